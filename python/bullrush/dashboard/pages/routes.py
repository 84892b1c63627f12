"""``/q/NAME/routes``: what waits for certain workers, and whether there are any."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.dashboard.commands import command
from bullrush.dashboard.pages.limits import no_worker
from bullrush.errors import BullrushError, ConnectionLostError
from bullrush.queue import RouteStatus
from bullrush.routing import route_base


async def routes(asked: Asked) -> Answer:
    """Return the page."""
    await demand_known(asked.queue)
    found = await asked.queue.route_status()
    content = {
        "queue": asked.queue_name,
        "may": await asked.viewer.rights(asked.queue_name),
        "routes": [
            {**asdict(route), "unmatched": route.unmatched}
            # What is nobody's comes first.
            for route in sorted(found, key=lambda route: (not route.unmatched, route.queue))
            if await asked.viewer.may("view", route.queue)
        ],
        "command": command(["routes"], [asked.queue_name], asked.source.prefix),
    }
    return Answer("routes.html", f"{asked.queue_name}: routes", content)


async def unserved_routes(asked: Asked) -> list[dict[str, Any]]:
    """Return a sentence for each route of the queue in which jobs wait that no connected worker takes."""
    return [
        {"queue": route.queue, "text": _unserved(asked.queue_name, route)}
        for route in await _statuses(asked, asked.queue_name)
        if route.waiting and not route.workers and await asked.viewer.may("view", route.queue)
    ]


def _unserved(base: str, route: RouteStatus) -> str:
    jobs, wait = ("job", "waits") if route.waiting == 1 else ("jobs", "wait")
    target = route.queue.removeprefix(f"{base}~")
    no_one = no_worker(route.queue)
    return f"{route.waiting:,} {jobs} for the target {target} {wait}, and {no_one[0].lower()}{no_one[1:]} is connected."


async def route_of(asked: Asked) -> dict[str, Any] | None:
    """Return of which queue this one is a route, and what its jobs need if that is registered; None of another one."""
    base = route_base(asked.queue_name)
    if base is None:
        return None
    target = next((one.target for one in await _statuses(asked, base) if one.queue == asked.queue_name), None)
    return {"base": base, "target": target, "base_shown": await asked.viewer.may("view", base)}


async def _statuses(asked: Asked, base: str) -> list[RouteStatus]:
    """Return the routes of a queue. What Redis refuses must not hide the page of its jobs."""
    try:
        return await asked.source.queue(base).route_status() if route_base(base) is None else []
    except ConnectionLostError:
        raise
    except BullrushError:
        return []
