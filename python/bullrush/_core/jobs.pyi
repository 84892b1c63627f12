"""Jobs: those that are read from Redis, and those that are to be added."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, final

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
    @property
    def overdue(self) -> bool:
        """True while its handler runs on although the job has failed at its time limit."""
    def fields(self) -> dict[str, bytes]:
        """Return all raw hash fields."""
    def get(self, field: str) -> bytes | None:
        """Return one raw hash field (``atm``, ``failedReason``...), None when absent."""

class CompiledOptions(Protocol):
    """Checked options: those of `bullrush.job.option_compiler.CompiledOptions`, which are read by name."""

class CheckedJob(Protocol):
    """The parts of a job: the attributes of `bullrush.queue.adding.CheckedJob`, which are read by name."""

class FlowNode(Protocol):
    """How a job stands in a flow: the attributes of `bullrush.flow.plan.FlowNode`, which are read by name."""

@final
class NewJobs:
    """Jobs to add. They are checked and encoded one after the other and share one buffer.

    Their records get ids when they are added.
    """

    def __new__(cls, check: Callable[[object, Any], tuple[str, bytes]], timestamp: int) -> NewJobs:
        """``check`` checks a name, and encodes data that the core does not take; ``timestamp``: the time of the add."""
    def add(
        self, name: object, data: object, options: tuple[CompiledOptions, str | None], node: FlowNode | None = None
    ) -> None:
        """Append a job; ``options``: the compiled ones, and its id."""
    def extend(
        self,
        jobs: Iterable[Mapping[str, object]],
        compile: Callable[[Mapping[str, object]], tuple[CompiledOptions, str | None]],
        odd: Callable[[Any], CheckedJob | None],
    ) -> None:
        """Append dicts of name, data and opts.

        ``odd`` gets each job that is not a plain dict of these, or has a target: it returns the parts of the job, or
        None for a job that it has put elsewhere.
        """
    def __len__(self) -> int: ...
    def left_out(self) -> list[int]:
        """Return the positions of the jobs that were put elsewhere."""
    def names(self, most: int) -> list[str]:
        """Return the names of the first ``most`` jobs. No job can be added after this, as after the next two."""
    def record(self, position: int) -> NewJobRecord: ...
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
