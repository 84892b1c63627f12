"""The parent and the children of a job, as the viewer may see them."""

from __future__ import annotations

from typing import Any, Final

from bullrush.aio import Job
from bullrush.dashboard.answer import Asked
from bullrush.errors import MalformedJobError
from bullrush.extending import JSON
from bullrush.job import Cursor

#: The kinds of children, and what became of those.
OUTCOMES: Final = {
    "failed": "failed",
    "unprocessed": "unfinished",
    "ignored": "failed, ignored",
    "processed": "completed",
}
_SHOWN: Final = 20


async def family(asked: Asked, found: Job, most: int = _SHOWN) -> dict[str, Any]:
    """Return the parent and some children; of a queue that the viewer may not see nothing but that there are some."""
    counts = await found.get_dependencies_count()
    total = sum(counts.get(kind, 0) for kind in OUTCOMES)  # type: ignore[misc]
    keys: list[tuple[str, str]] = []
    if total:
        page: Cursor = {"count": most}
        try:
            some = await found.get_dependencies(processed=page, unprocessed=page, ignored=page, failed=page)
        except MalformedJobError:
            some = {}
        keys = [
            (key, outcome)
            for kind, outcome in OUTCOMES.items()
            for key in some.get(kind, ())  # type: ignore[attr-defined]
        ][:most]
    children = [{**child, "outcome": outcome} for key, outcome in keys if (child := await relative(asked, key))]
    parent = found.parent_key and await relative(asked, found.parent_key)
    return {
        "parent": parent,
        "children": {"count": total, "shown": children, "hidden": len(keys) - len(children)},
    }


async def relative(asked: Asked, key: str) -> dict[str, JSON] | None:
    """Return the queue and the id of a job by its key; None for one that the viewer may not see."""
    start = f"{asked.source.prefix}:"
    queue, _, job_id = key.removeprefix(start).partition(":")
    if not key.startswith(start) or not job_id or not await asked.viewer.may("view", queue):
        return None
    return {"queue": queue, "id": job_id}
