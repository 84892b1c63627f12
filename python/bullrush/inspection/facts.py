"""What is asked of Redis to say why a job does not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bullrush._core import route_base
from bullrush.base.due import DueWork, due_work
from bullrush.base.operation import reply
from bullrush.errors import MalformedJobError, RedisServerError
from bullrush.inspection.place import place_of
from bullrush.inspection.why import SHOWN, Child, Seen, Why, explain, failed_child
from bullrush.inspection.workers import count_takers, count_workers
from bullrush.values.naming import id_of_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from bullrush._core import Pending
    from bullrush._core.reads import ChildKind
    from bullrush._core.reads import Place as PlaceFields
    from bullrush.base.handle import Handle
    from bullrush.job.fields import JobFields

_KINDS: Final[tuple[ChildKind, ...]] = ("processed", "unprocessed", "ignored", "failed")
#: So many open children are looked at.
_LOOKED_AT: Final = 20
_WAITING: Final = frozenset({"waiting", "prioritized", "delayed", "active"})


async def why(queue: Handle, given_id: str, to_job: Callable[[Any], JobFields]) -> Why:
    """Say why a job does not run; awaited inside an operation.

    Args:
        queue: the queue of the job.
        given_id: the id of the job, checked.
        to_job: makes a job of what Redis has of it.
    """
    id = id_of_job(given_id)
    place = await place_of(queue.core, id)
    record = await reply(queue.core.get_job(id))
    job = None if record is None else to_job(record)
    work = await due_work(queue.core) if place.state in _WAITING else DueWork()
    workers = (await count_workers(queue, [queue.name]))[queue.name] if place.state in _WAITING else None
    holders: list[Any] = []
    if place.state in {"waiting", "prioritized"} and work.slots is not None and work.active >= work.slots:
        # Some jobs that hold the slots of the global concurrency, the oldest first.
        records = await reply(queue.core.get_jobs(["active"], 0, SHOWN - 1, True))
        holders = [to_job(record) for record in records if record is not None]
    children, open_children = 0, list[Child]()
    if place.state == "waiting-children":
        children, open_children = await _children(queue, id)
    is_route = route_base(queue.name) is not None
    takers = workers
    if workers and not is_route and job is not None and place.state != "active":
        takers = await count_takers(queue, workers, _target_of(job))
    child = failed_child(job.failed_reason or "") if job is not None and place.state == "failed" else None
    failure = None if child is None else await _failure_of(queue, child)
    return explain(
        Seen(
            queue.name, given_id, job, place, work, workers, takers, is_route, holders, children, open_children, failure
        )
    )


async def _failure_of(queue: Handle, key: str) -> str | None:
    """Return why a child failed; None if it is gone, or if Redis refuses to say it."""
    try:
        (fields,) = await reply(queue.core.hashes([key]))
    except RedisServerError:
        return None
    reason = dict(fields).get("failedReason")
    return None if reason is None else reason.decode(errors="replace")


async def _children(queue: Handle, id: str) -> tuple[int, list[Child]]:
    """Return how many children a job has, and some that are open, failed ones first."""
    counts = await reply(queue.core.count_children(id, _KINDS))
    [(_, page)] = await reply(queue.core.pages_of_children(id, [("unprocessed", 0, _LOOKED_AT)]))
    # All of them are asked before the first answer is waited for.
    asked = [(key, _ask_for(queue, key)) for key, _ in page[:_LOOKED_AT]]
    found = [Child(key, None if pending is None else await _state_of(pending)) for key, pending in asked]
    return sum(counts), sorted(found, key=lambda child: (child.state != "failed", child.key))


def _ask_for(queue: Handle, key: str) -> Pending[PlaceFields] | None:
    """Ask where a child is; None for one with another prefix."""
    start = f"{queue.prefix}:"
    name, _, id = key.removeprefix(start).partition(":")
    return queue.core.place(id, name=name) if key.startswith(start) and id else None


def _target_of(job: JobFields) -> object:
    try:
        return job.opts.get("target")
    except MalformedJobError:
        return None


async def _state_of(asked: Pending[PlaceFields]) -> str | None:
    """Return the state of a child, ``gone`` if it is nowhere; None if Redis refuses to say it."""
    try:
        return (await reply(asked))["state"] or "gone"
    except RedisServerError:
        return None
