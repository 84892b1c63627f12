"""Jobs as somebody has seen them: of many only those are changed that are still so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

import orjson

from bullrush.base.operation import reply
from bullrush.errors import BullrushError, JobLockMismatchError, JobNotFoundError, JobStateError
from bullrush.values.naming import id_of_job

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
    found = await reply(core.job_fields([id_of_job(id) for id in ids], ["finishedOn"]))
    return [SeenJob(id, (at or b"").decode(errors="replace")) for id, (at,) in zip(ids, found, strict=True)]


async def change_seen(
    core: CoreQueue,
    verb: Verb,
    state: str,
    jobs: Sequence[SeenJob],
    *,
    reset_attempts: bool = False,
    remove_children: bool = False,
) -> list[BullrushError | None]:
    """Change each job that is still as it was seen; awaited inside an operation.

    The check and the change are one call of Redis. All calls run at the same time, so give some hundred jobs at most.

    Args:
        core: the compiled side of the queue.
        verb: what is done.
        state: the state in which the jobs were seen.
        jobs: the jobs.
        reset_attempts: jobs that are retried count their attempts from 0 again.
        remove_children: the children of a job that is removed are removed, too.

    Returns:
        None for each job that was changed, or why it was not. See `has_moved`.
    """
    asked: list[Pending[Any]]
    ids = [id_of_job(job.id) for job in jobs]
    if verb == "retry":
        lifo = await _lifo(core, ids)
        asked = [
            core.retry(id, state, first, reset_attempts, reset_attempts, job.finished_on)
            for id, job, first in zip(ids, jobs, lifo, strict=True)
        ]
    elif verb == "remove":
        asked = [core.remove(id, remove_children, (state, job.finished_on)) for id, job in zip(ids, jobs, strict=True)]
    else:
        asked = [core.promote(id) for id in ids]
    outcomes: list[BullrushError | None] = []
    for job, id, one in zip(jobs, ids, asked, strict=True):
        try:
            outcomes.append(JobLockMismatchError("A worker runs this job.") if await reply(one) == 0 else None)
        except BullrushError as error:
            outcomes.append(error if id == job.id else JobNotFoundError(f"{job.id!r} is the id of no job"))
    return outcomes


def has_moved(outcome: BullrushError | None) -> bool:
    """Tell whether a job was not changed since it is not any more what somebody has seen."""
    return isinstance(outcome, JobNotFoundError | JobStateError)


async def _lifo(core: CoreQueue, ids: Sequence[str]) -> list[bool]:
    """Return which jobs go before those that wait when they are retried: their options say it."""
    return [_is_lifo(opts) for (opts,) in await reply(core.job_fields(ids, ["opts"]))]


def _is_lifo(opts: bytes | None) -> bool:
    try:
        found = orjson.loads(opts or b"{}")
    except ValueError:
        return False
    return isinstance(found, dict) and bool(found.get("lifo"))
