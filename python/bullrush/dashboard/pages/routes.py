"""``/q/NAME/routes``: what waits for certain workers, and whether there are any."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.dashboard.commands import command
from bullrush.dashboard.pages.limits import no_worker
from bullrush.dashboard.source import Routes
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


async def unserved_routes(asked: Asked, known: Routes) -> list[dict[str, Any]]:
    """Return a sentence for each route of the queue in which jobs wait that no connected worker takes."""
    return [
        {"queue": route.queue, "text": _unserved(asked.queue_name, route)}
        for route in known.statuses
        if _is_unserved(route) and await asked.viewer.may("view", route.queue)
    ]


def some_unserved(known: Routes) -> bool:
    """Tell whether jobs wait in a route that no connected worker takes."""
    return any(_is_unserved(route) for route in known.statuses)


def _is_unserved(route: RouteStatus) -> bool:
    return bool(route.waiting) and not route.workers


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
    known = await asked.source.routes.value(asked.source.queue(base))
    target = next((one.target for one in known.statuses if one.queue == asked.queue_name), None)
    return {"base": base, "target": target, "base_shown": await asked.viewer.may("view", base)}
