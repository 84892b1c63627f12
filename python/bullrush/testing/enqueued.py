"""An assertion about what waits in a queue."""

from __future__ import annotations

from typing import Any, Final

from bullrush.base.handle import Handle
from bullrush.job.job import Job
from bullrush.queue.queue import Queue
from bullrush.values.encoding import JSON

_STATES: Final = ("waiting", "paused", "prioritized", "delayed", "waiting-children")
#: How many jobs a failure shows.
_SHOWN: Final = 10
_MOST: Final = 10_000


def assert_enqueued(queue: Any, name: str | None = None, /, *, times: int | None = None, **data: JSON) -> Job:
    """Assert that a job waits in a queue, and return the oldest one that fits.

    Args:
        queue: a `Queue` or the name of one.
        name: the job's name; None fits any.
        times: how many jobs must fit; at least one by default.
        data: fields of its data and their values; others may be there as well.

    Raises:
        AssertionError: no job fits, or another number of them; the message has the jobs that wait.
    """
    opened = Queue(queue) if isinstance(queue, str) else queue
    assert isinstance(opened, Handle), f"assert_enqueued needs a Queue or its name, not {queue!r}"
    jobs: list[Job] = Queue(opened.name, url=opened.opts.get("url"), prefix=opened.prefix).get_jobs(
        list(_STATES), 0, _MOST, asc=True
    )
    fitting = [job for job in jobs if name in (None, job.name) and _has(job.data, data)]
    wanted = " ".join(filter(None, [repr(name) if name else "a job", f"with {data}" if data else ""]))
    if fitting and times in (None, len(fitting)):
        return fitting[0]
    found = "\n".join(f"  {job.name!r} {job.data}" for job in jobs[:_SHOWN]) or "  nothing"
    more = f"\n  and {len(jobs) - _SHOWN} more" if len(jobs) > _SHOWN else ""
    count = f"{len(fitting)} times instead of {times}" if times is not None else "not"
    raise AssertionError(f"{wanted} is {count} in queue {opened.name!r}, which has:\n{found}{more}")


def _has(found: JSON, wanted: dict[str, JSON]) -> bool:
    if not wanted:
        return True
    return isinstance(found, dict) and all(key in found and found[key] == value for key, value in wanted.items())
