"""``/q/NAME/workers``: who is connected, and what runs."""

from __future__ import annotations

import asyncio
from typing import Final

from bullrush.aio import Queue
from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.dashboard.pages.all.connections import Connected
from bullrush.dashboard.pages.silence import silence
from bullrush.dashboard.reading import read
from bullrush.dashboard.refusal import refused
from bullrush.errors import RedisServerError
from bullrush.extending import now_ms, run_async
from bullrush.inspection import count_workers

_MOST: Final = 200


async def workers(asked: Asked) -> Answer:
    """Return the page."""
    await demand_known(asked.queue)
    (listed, why), count, running = await asyncio.gather(
        _listed(asked.queue),
        run_async(count_workers(asked.queue, [asked.queue_name])),
        asked.queue.get_active(0, _MOST - 1),
    )
    shown = [
        Connected.of(client["name"], {**client, "name": client.get("rawname", "")}, now_ms())
        for client in listed
        # Those of a route are listed with the queue.
        if await asked.viewer.may("view", client["name"])
    ]
    content = {
        "queue": asked.queue_name,
        "may": await asked.viewer.rights(asked.queue_name),
        "count": count[asked.queue_name],
        "refused": why,
        "workers": [
            {"name": one.name, "address": one.address, "connected_for": one.age, "idle_for": one.idle} for one in shown
        ],
        # A worker whose slots are taken does not wait.
        "silence": None if running else silence(one for one in shown if one.queue == asked.queue_name),
        "running": [
            {
                "id": job.id,
                "name": asked.masks.veil((known := read(job)).data, known.result).text(job.name),
                "worker": job.processed_by,
                "started": job.processed_on,
            }
            for job in running
        ],
    }
    return Answer("workers.html", f"{asked.queue_name}: workers", content)


async def _listed(queue: Queue) -> tuple[list[dict[str, str]], str | None]:
    """Return the connections of the workers, and why Redis does not list them."""
    try:
        return await queue.get_workers(), None
    except RedisServerError as error:
        return [], refused(error)
