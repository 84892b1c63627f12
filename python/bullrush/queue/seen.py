"""Jobs as somebody has seen them: of many only those are changed that are still so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

import orjson

from bullrush.base.operation import reply
from bullrush.errors import BullrushError, JobLockMismatchError, JobNotFoundError, JobStateError

if TYPE_CHECKING:
    from bullrush._core import CoreQueue, Pending

#: What can be done with jobs that somebody has seen.
Verb: TypeAlias = Literal["retry", "promote", "remove"]
VERBS: Final[tuple[Verb, ...]] = get_args(Verb)


class SeenJob(NamedTuple):
    """A job as somebody has seen it.

    Attributes:
        id: its id.
        finished_on: when it finished, as it stands in its hash; "" if it has not.
    """

    id: str
    finished_on: str


async def seen_jobs(core: CoreQueue, ids: Sequence[str]) -> list[SeenJob]:
    """Note how jobs are now, in one round trip; awaited inside an operation.

    Args:
        core: the compiled side of the queue.
        ids: the ids of at most some thousand jobs.
    """
    found = await reply(core.job_fields(ids, ["finishedOn"]))
    return [SeenJob(id, (at or b"").decode(errors="replace")) for id, (at,) in zip(ids, found, strict=True)]


async def change_seen(core: CoreQueue, verb: Verb, state: str, jobs: Sequence[SeenJob]) -> list[BullrushError | None]:
    """Change each job that is still as it was seen; awaited inside an operation.

    The check and the change are one call of Redis. All calls run at the same time, so give some hundred jobs at most.
    Children of a job that is removed stay.

    Args:
        core: the compiled side of the queue.
        verb: what is done.
        state: the state in which the jobs were seen.
        jobs: the jobs.

    Returns:
        None for each job that was changed, or why it was not. See `has_moved`.
    """
    asked = [_ask(core, verb, state, job, lifo) for job, lifo in zip(jobs, await _lifo(core, verb, jobs), strict=True)]
    outcomes: list[BullrushError | None] = []
    for one in asked:
        try:
            outcomes.append(JobLockMismatchError("A worker runs this job.") if await reply(one) == 0 else None)
        except BullrushError as error:
            outcomes.append(error)
    return outcomes


def has_moved(outcome: BullrushError | None) -> bool:
    """Tell whether a job was not changed since it is not any more what somebody has seen."""
    return isinstance(outcome, JobNotFoundError | JobStateError)


def _ask(core: CoreQueue, verb: Verb, state: str, job: SeenJob, lifo: bool) -> Pending[Any]:
    if verb == "promote":
        return core.promote(job.id)
    if verb == "remove":
        return core.remove(job.id, False, (state, job.finished_on))
    return core.retry(job.id, state, lifo, False, False, job.finished_on)


async def _lifo(core: CoreQueue, verb: Verb, jobs: Sequence[SeenJob]) -> list[bool]:
    """Return which jobs go before those that wait when they are retried: their options say it."""
    if verb != "retry":
        return [False] * len(jobs)
    return [_is_lifo(opts) for (opts,) in await reply(core.job_fields([job.id for job in jobs], ["opts"]))]


def _is_lifo(opts: bytes | None) -> bool:
    try:
        found = orjson.loads(opts or b"{}")
    except ValueError:
        return False
    return isinstance(found, dict) and bool(found.get("lifo"))
