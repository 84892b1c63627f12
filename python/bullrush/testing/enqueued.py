"""An assertion about what waits in a queue."""

from __future__ import annotations

from typing import Any, Final, Literal, overload

from bullrush.extending import JSON, Handle, registered_routes, run_blocking
from bullrush.job import Job
from bullrush.queue import Queue
from bullrush.tasks import Tasks
from bullrush.testing.work import place

_STATES: Final = ("waiting", "paused", "prioritized", "delayed", "waiting-children")
#: How many jobs a failure shows.
_SHOWN: Final = 10
_MOST: Final = 10_000


@overload
def assert_enqueued(queue: Any, name: str | None = None, /, *, times: Literal[0], **data: JSON) -> None: ...
@overload
def assert_enqueued(queue: Any, name: str | None = None, /, *, times: int | None = None, **data: JSON) -> Job: ...
def assert_enqueued(queue: Any, name: str | None = None, /, *, times: int | None = None, **data: JSON) -> Job | None:
    """Assert that a job waits in a queue, and return the oldest one that fits.

    Counted are the jobs in the states ``waiting``, ``paused``, ``prioritized``, ``delayed`` (also those of job
    schedulers, and retries after a backoff) and ``waiting-children``, in the queue and in its routes. Those that are
    active, completed or failed are not.

    Args:
        queue: a `Queue`, the name of one, or tasks.
        name: the job's name; None fits any.
        times: how many jobs must fit, 0 for none; at least one by default.
        data: fields of its data and their values; others may be there as well.

    Returns:
        The oldest job that fits; None with ``times=0``.

    Raises:
        AssertionError: no job fits, or another number of them; the message has the jobs that wait.
    """
    jobs = _waiting(queue)
    fitting = [job for job in jobs if name in (None, job.name) and _has(job.data, data)]
    wanted = " ".join(filter(None, [repr(name) if name else "a job", f"with {data}" if data else ""]))
    if len(fitting) == times or (fitting and times is None):
        return fitting[0] if fitting else None
    found = "\n".join(f"  {job.name!r} {job.data}" for job in jobs[:_SHOWN]) or "  nothing"
    more = f"\n  and {len(jobs) - _SHOWN} more" if len(jobs) > _SHOWN else ""
    count = f"{_times(len(fitting))}, not {_times(times)}," if times is not None else "not"
    raise AssertionError(f"{wanted} is {count} in queue {_name(queue)!r}, which has:\n{found}{more}")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _waiting(queue: Any) -> list[Job]:
    """Return the jobs that wait, of each queue the oldest ones first: the queue itself, then its routes."""
    base = Queue(_name(queue), **place(queue))
    queues = [base, *(Queue(name, **place(queue)) for name in run_blocking(registered_routes(base)))]
    return [job for one in queues for job in one.get_jobs(list(_STATES), 0, _MOST, asc=True)]


def _name(queue: Any) -> str:
    if isinstance(queue, Tasks):
        return queue.queue
    assert isinstance(queue, str | Handle), (
        f"assert_enqueued needs a Queue, its name or Tasks (the registry of the task), not {queue!r}"
    )
    return queue if isinstance(queue, str) else queue.name


def _has(found: JSON, wanted: dict[str, JSON]) -> bool:
    if not wanted:
        return True
    return isinstance(found, dict) and all(key in found and found[key] == value for key, value in wanted.items())
