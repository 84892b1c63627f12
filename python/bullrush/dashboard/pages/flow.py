"""``/q/NAME/flows/ID``: a job, the way up to the root of its flow, and its children, a page at a time."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from bullrush.aio import Job
from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.commands import command
from bullrush.dashboard.pages.family import OUTCOMES, family, relative
from bullrush.dashboard.reading import read
from bullrush.dashboard.refusal import RefusalError
from bullrush.errors import MalformedJobError
from bullrush.job import Cursor

#: So many children are read for a page, and so many of their own children are shown below them.
_PAGE: Final = 50
_BELOW: Final = 5
#: So many children show their own ones: each costs reads.
_OPENED: Final = 20
#: So many parents are looked for: flows are not deeper, and a broken key may lead in a circle.
_HIGHEST: Final = 20


async def flow(asked: Asked) -> Answer:
    """Return the page."""
    job_id = asked.parts["id"] or asked.query("id") or ""
    found = await asked.queue.get_job(job_id)
    if found is None:
        raise RefusalError(
            404, f"The queue {asked.queue_name!r} has no job {job_id!r}: it was removed, or never added."
        )
    counts = {kind: count for kind, count in (await found.get_dependencies_count()).items() if count}
    kind = asked.query("kind") or next((kind for kind in OUTCOMES if kind in counts), "unprocessed")
    if kind not in OUTCOMES:
        raise RefusalError(404, f"There are no such children as {kind!r}; there are {', '.join(OUTCOMES)}.")
    keys, following = await _page(found, kind, asked.position("from"))
    relatives = [one for key in keys if (one := await relative(asked, key))]
    children = await asyncio.gather(*(_child(asked, one["queue"], one["id"]) for one in relatives))
    await _open(asked, children)
    content = {
        "queue": asked.queue_name,
        "id": job_id,
        "name": _name(asked, found),
        "state": await found.get_state(),
        "above": await _above(asked, found),
        "counts": counts,
        "kind": kind,
        "outcomes": OUTCOMES,
        "children": [_shown(child) for child in children],
        "hidden": len(keys) - len(relatives),
        "next": following,
        "command": command(["flow"], [asked.queue_name, job_id], asked.source.prefix),
    }
    return Answer("flow.html", f"{asked.queue_name} {job_id}: flow", content, chosen={"kind": kind})


async def _page(found: Job, kind: str, cursor: int) -> tuple[list[str], int | None]:
    """Return the keys of some children, and where the next page begins; None at the end."""
    page: Cursor = {"cursor": cursor, "count": _PAGE}
    try:
        some = await found.get_dependencies(**{kind: page})
    except MalformedJobError:
        raise RefusalError(502, "A result of a child is no JSON, so its children cannot be listed.") from None
    following = some[f"next_{kind}_cursor"]  # type: ignore[literal-required]
    return list(some[kind]), following or None  # type: ignore[literal-required]


async def _child(asked: Asked, queue: str, job_id: str) -> dict[str, Any]:
    """Return a child with what is under it; one that was removed has only its id."""
    found = await asked.source.queue(queue).get_job(job_id)
    child: dict[str, Any] = {"queue": queue, "id": job_id, "job": found, "name": None, "state": "gone", "count": 0}
    if found is not None:
        counts, state = await asyncio.gather(found.get_dependencies_count(), found.get_state())
        child |= {"name": _name(asked, found), "state": state, "count": sum(counts.values())}
    return {**child, "below": [], "hidden_below": 0}


async def _open(asked: Asked, children: list[dict[str, Any]]) -> None:
    """Add the first children of the children."""
    for child in [child for child in children if child["count"]][:_OPENED]:
        below = (await family(asked, child["job"], _BELOW))["children"]
        child["below"] = [
            _shown(one)
            for one in await asyncio.gather(*(_child(asked, one["queue"], one["id"]) for one in below["shown"]))
        ]
        child["hidden_below"] = below["hidden"]


def _shown(child: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in child.items() if name != "job"}


async def _above(asked: Asked, found: Job) -> list[dict[str, Any]]:
    """Return the way from the root to the parent; it begins at the first job that the viewer may see."""
    way: list[dict[str, Any]] = []
    job: Job | None = found
    while job is not None and job.parent_key and len(way) < _HIGHEST:
        parent = await relative(asked, job.parent_key)
        if parent is None:
            break
        job = await asked.source.queue(parent["queue"]).get_job(parent["id"])
        way.insert(0, {**parent, "name": None if job is None else _name(asked, job)})
    return way


def _name(asked: Asked, found: Job) -> str:
    known = read(found)
    return asked.masks.veil(known.data, known.result).text(found.name)
