"""Jobs: those that are read from Redis, and those that are to be added."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, final

#: One job to add: name, data (JSON), opts (JSON, short names), custom id or None, timestamp, delay, priority, lifo.
NewJob: TypeAlias = tuple[str, bytes, bytes, str | None, int, int, int, bool]

#: The relations of a job: the queue's prefix with the colon ("" = this queue), whether the client made its id, whether it waits for
#: children, its parent's key and JSON, its deduplication's id, ttl (ms or 0) and flags (e, r, k).
Link: TypeAlias = tuple[str, bool, bool, tuple[str, str] | None, tuple[str, int, str] | None]

@final
class JobRecord:
    """A job as Redis stores it: raw bytes, which the caller decodes when needed."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def data(self) -> bytes: ...
    @property
    def opts(self) -> bytes: ...
    @property
    def token(self) -> str | None:
        """The lock token, for a job that a worker of this process holds."""
    @property
    def queue_name(self) -> str | None:
        """The queue, for a job that a worker of this process holds."""
    @property
    def cancelled(self) -> bool:
        """True once the lock is proven lost, the worker's close deadline has passed, or the job was cancelled."""
    @property
    def cancel_reason(self) -> str | None:
        """Why the job was cancelled, or which time limit is over."""
    @property
    def settled(self) -> bool:
        """True once the worker has an outcome of this job: it drops any further one."""
    def fields(self) -> dict[str, bytes]:
        """Return all raw hash fields."""
    def get(self, field: str) -> bytes | None:
        """Return one raw hash field (``atm``, ``failedReason``...), None when absent."""

@final
class NewJobs:
    """Many jobs to add. They are checked and encoded in one pass and share one buffer; their records get ids when they are added.

    ``compile`` returns compiled options and a job id. ``prepare`` handles jobs that are not plain dicts of a name and JSON, links, and
    jobs with a target; a job for which it returns None is left out.
    """

    def __new__(
        cls, jobs: Iterable[Any], timestamp: int, compile: Callable[..., Any], prepare: Callable[..., Any]
    ) -> NewJobs: ...
    def __len__(self) -> int: ...
    def names(self, most: int) -> list[str]:
        """Return the names of the first ``most`` jobs."""
    def left_out(self) -> list[int]:
        """Return the positions of the jobs that were left out."""
    def records(self) -> list[NewJobRecord]: ...

@final
class NewJobRecord:
    """One job of `NewJobs`, as it was sent."""

    id: str
    name: str
    data: bytes
    opts: bytes
    token: None
    cancelled: bool
    cancel_reason: None
    def get(self, field: str) -> bytes | None: ...
