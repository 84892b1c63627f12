"""``/q/NAME/schedulers``: what is added at which times."""

from __future__ import annotations

from typing import Final

from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.doctor import CODES
from bullrush.extending import now_ms, run_async
from bullrush.inspection import stopped

_MOST: Final = 200


async def schedulers(asked: Asked) -> Answer:
    """Return the page. Data of the jobs are left out: a job has them."""
    await demand_known(asked.queue)
    found = await asked.queue.get_job_schedulers(0, _MOST - 1, asc=True)
    broken = await run_async(stopped(asked.queue.core, found, now_ms()))
    content = {
        "queue": asked.queue_name,
        "may": await asked.viewer.rights(asked.queue_name),
        "count": await asked.queue.get_job_schedulers_count(),
        "schedulers": [
            {
                "id": one["key"],
                "name": one.get("name"),
                "pattern": one.get("pattern"),
                "every": one.get("every"),
                "time_zone": one.get("tz"),
                "next": one["next"],
                "made": one.get("iteration_count"),
                "stopped": why_and_advice(broken.get(one["key"])),
            }
            for one in found
        ],
    }
    return Answer("schedulers.html", f"{asked.queue_name}: schedulers", content)


def why_and_advice(stopped: str | None) -> str | None:
    """Return why a scheduler makes no more jobs, and what to do; None if it makes some."""
    return None if stopped is None else f"{stopped} {CODES['BR112'].advice}."
