"""The call that says why a job does not run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bullrush._core import route_base
from bullrush.base.handle import Handle
from bullrush.base.operation import operation, reply
from bullrush.errors import MalformedJobError, RedisServerError
from bullrush.inspection.due import DueWork, due_work
from bullrush.inspection.place import place_of
from bullrush.inspection.why import SHOWN, Child, Seen, Why, explain, failed_child
from bullrush.inspection.workers import count_takers, count_workers
from bullrush.values.naming import check_given_id

if TYPE_CHECKING:
    from bullrush._core import Pending
    from bullrush._core.reads import ChildKind
    from bullrush._core.reads import Place as PlaceFields
    from bullrush.job.fields import JobFields

_KINDS: Final[tuple[ChildKind, ...]] = ("processed", "unprocessed", "ignored", "failed")
#: So many open children are looked at.
_LOOKED_AT: Final = 20
_WAITING: Final = frozenset({"waiting", "prioritized", "delayed", "active"})


class WhyCalls(Handle):
    """The call that says why a job does not run."""

    @operation
    async def why(self, job_id: str) -> Why:
        """Say in one sentence why a job does not run, or what happened to it.

        Args:
            job_id: the id of the job.

        Redis:
            Two round trips for a job that has ended, three if it failed because of a child, four to eight for one that
            has not; nothing is written. Of a parent up to 20 children are looked at, all at the same time. Constant
            time, but for CLIENT LIST, which grows with the number of connections, and the place of a job behind 10,000
            others, which grows with the list.
        """
        id = check_given_id(job_id)
        place = await place_of(self.core, id)
        record = await reply(self.core.get_job(id))
        job = None if record is None else self._job(record)
        work = await due_work(self.core) if place.state in _WAITING else DueWork()
        workers = (await count_workers(self, [self.name]))[self.name] if place.state in _WAITING else None
        holders = await self._holders(work) if place.state in {"waiting", "prioritized"} else []
        children, open_children = 0, list[Child]()
        if place.state == "waiting-children":
            children, open_children = await self._children(id)
        is_route = route_base(self.name) is not None
        takers = workers
        if workers and not is_route and job is not None and place.state != "active":
            takers = await count_takers(self, workers, _target_of(job))
        child = failed_child(job.failed_reason or "") if job is not None and place.state == "failed" else None
        failure = None if child is None else await self._failure_of(child)
        return explain(
            Seen(self.name, id, job, place, work, workers, takers, is_route, holders, children, open_children, failure)
        )

    async def _failure_of(self, key: str) -> str | None:
        """Return why a child failed; None if it is gone, or if Redis refuses to say it."""
        try:
            (fields,) = await reply(self.core.hashes([key]))
        except RedisServerError:
            return None
        reason = dict(fields).get("failedReason")
        return None if reason is None else reason.decode(errors="replace")

    async def _holders(self, work: DueWork) -> list[Any]:
        """Return some jobs that hold the slots of the global concurrency, the oldest first."""
        if work.slots is None or work.active < work.slots:
            return []
        records = await reply(self.core.get_jobs(["active"], 0, SHOWN - 1, True))
        return [self._job(record) for record in records if record is not None]

    async def _children(self, id: str) -> tuple[int, list[Child]]:
        """Return how many children a job has, and some that are open, failed ones first."""
        counts = await reply(self.core.count_children(id, _KINDS))
        [(_, page)] = await reply(self.core.pages_of_children(id, [("unprocessed", 0, _LOOKED_AT)]))
        # All of them are asked before the first answer is waited for.
        asked = [(key, self._ask_for(key)) for key, _ in page[:_LOOKED_AT]]
        found = [Child(key, None if pending is None else await _state_of(pending)) for key, pending in asked]
        return sum(counts), sorted(found, key=lambda child: (child.state != "failed", child.key))

    def _ask_for(self, key: str) -> Pending[PlaceFields] | None:
        """Ask where a child is; None for one with another prefix."""
        start = f"{self.prefix}:"
        queue, _, id = key.removeprefix(start).partition(":")
        return self.core.place(id, name=queue) if key.startswith(start) and id else None


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
