"""``/q/NAME/routes``: what waits for certain workers, and whether there are any."""

from __future__ import annotations

from dataclasses import asdict

from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.dashboard.commands import command


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
