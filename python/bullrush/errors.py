"""All errors of bullrush. They are defined in Python so that they can be pickled.

The compiled core raises these classes by name. Each negative result code of a BullMQ script has one class; see
`from_code`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar


class BullrushError(Exception):
    """Base of all errors of this package.

    Attributes:
        code: BullMQ's result code or the first word of Redis' error, if the error has one.
    """

    code: int | str | None = None
    default_message: ClassVar[str] = ""

    def __init__(self, *args: object) -> None:
        """Make the error.

        Args:
            *args: the message; the default of the class without it.
        """
        super().__init__(*(args or ((self.default_message,) if self.default_message else ())))


# Mistakes of the caller.


class InvalidOptionError(BullrushError, ValueError):
    """An option has an invalid value."""


class UnknownOptionError(InvalidOptionError, TypeError):
    """An option does not exist, or was given by position; the message says what to write."""


class QueueNameError(BullrushError, ValueError):
    """A queue name is missing or has characters that are not allowed."""


class DataError(BullrushError, TypeError, ValueError):
    """A value is not JSON; the message has the path to the wrong part, such as ``data.items[3]``."""


class TooLargeError(InvalidOptionError):
    """A value exceeds ``size_limit``, ``payload_limit`` or Redis' ``proto-max-bulk-len`` (512 MB).

    Nothing was written.
    """


# Errors of the connection and of the server.


class ConnectionLostError(BullrushError, ConnectionError):
    """Redis could not be reached, or did not answer a call that only reads. Nothing was changed."""


class OutcomeUnknownError(BullrushError):
    """A command was sent and no reply came: it was executed or not."""


class NotDurableError(BullrushError):
    """Jobs are not where ``durable`` wants them. The message says whether they were added; then they run as usual."""


class RedisServerError(BullrushError):
    """Redis answered with an error.

    Attributes:
        code: the first word of Redis' answer, such as ``OOM`` or ``NOPERM``.
        server: the host and the port of the server, where a call uses two of them; else None.
    """

    def __init__(self, code: str, message: str, server: str | None = None) -> None:
        """Make the error.

        Args:
            code: the first word of Redis' error.
            message: the rest of it.
            server: where it comes from.
        """
        super().__init__(code, message, *([] if server is None else [server]))
        self.code: str = code
        self.server: str | None = server

    def __str__(self) -> str:
        """Return the error text as Redis sent it, with what to do if Redis wants a password."""
        hint = " (the URL has no password: redis://:PASSWORD@host:6379)" if self.code == "NOAUTH" else ""
        where = "" if self.server is None else f" (the Redis at {self.server})"
        return f"{self.args[0]} {self.args[1]}{where}{hint}"


class EnqueueError(BullrushError):
    """An `enqueue`, `enqueue_flows` or `call` of Spark did not finish. Some of its rows may be jobs already.

    Attributes:
        batch_id: the id of its batch. A call with this id adds only the rows that are missing.
        code: the first word of Redis' error, such as ``OOM``, if that is the reason.
    """

    def __init__(self, message: str, batch_id: str = "", code: str | None = None) -> None:
        """Make the error.

        Args:
            message: the message.
            batch_id: the id of the batch.
            code: the first word of Redis' error.
        """
        super().__init__(message, batch_id, code)
        self.batch_id = batch_id
        self.code: str | None = code

    def __str__(self) -> str:
        """Return the message."""
        return str(self.args[0])


class DrainError(BullrushError):
    """The tasks of a `drain` of Spark failed. The results of the jobs that it finished are in Redis.

    Attributes:
        run: the name of its run, which the jobs show as ``processedBy``.
    """

    def __init__(self, message: str, run: str = "") -> None:
        """Make the error.

        Args:
            message: the message.
            run: the name of the run.
        """
        super().__init__(message)
        self.run = run


class RedisVersionError(BullrushError):
    """The Redis server is too old; 6.2 is the oldest that works."""


class RouteLimitError(BullrushError):
    """A queue has 256 routes that are in use, the most it may have: its jobs have too many targets.

    Nothing was added.
    """


class RouteCollisionError(BullrushError):
    """The name of a route belongs to another target, which another version or program has registered.

    Nothing was added.
    """


class LegacyQueueError(BullrushError):
    """The queue belongs to Bull, BullMQ's predecessor; using it with both would damage it. Or its jobs have moved."""


class ClosedError(BullrushError):
    """The queue or worker was closed before this call."""

    default_message = "Connection is closed."


class JobWaitTimeoutError(TimeoutError):
    """A job did not finish while somebody waited for it. ``state`` is where it was at the end; see `Job.get_state`."""

    def __init__(self, message: str, state: str = "unknown") -> None:
        super().__init__(message)
        self.state = state


class LimitTimeoutError(BullrushError, TimeoutError):
    """A limit did not allow in time what somebody wanted to take of it.

    ``retry_after``: after how many ms its rates allow it; None if all slots of its concurrency are taken.
    """

    def __init__(self, message: str, retry_after: int | None = None) -> None:
        """Say what happened.

        Args:
            message: what happened.
            retry_after: after how many ms the rates allow it.
        """
        super().__init__(message)
        self.retry_after = retry_after


class QueuePausedError(BullrushError):
    """The queue is paused, so no worker takes its jobs."""


class RunExpiredError(BullrushError):
    """The list of the jobs of a run is gone, or a part of it.

    The driver sees Spark's ``PythonException`` with this text.
    """


class UnrecoverableError(BullrushError):
    """Raised by a handler: the job fails now and is not retried."""

    default_message = "bullmq:unrecoverable"


class PermanentError(UnrecoverableError):
    """Raised by a handler: the job fails now and is not retried, since it would fail again."""

    default_message = "The job would fail again"


class TransientError(BullrushError):
    """Raised by a handler: the attempt failed, and another one may not. It counts as an attempt like any other failure.

    Attributes:
        delay: when the job runs again, in ms or as a timedelta, instead of its backoff; None keeps the backoff. A job
            without attempts left fails for good.
    """

    default_message = "The attempt failed"

    def __init__(self, *args: object, delay: int | timedelta | None = None) -> None:
        """Make the error.

        Args:
            *args: the message; the default of the class without it.
            delay: when the job runs again; see the class.
        """
        super().__init__(*args)
        self.delay = delay


# One class per result code of BullMQ's scripts.


class ResultCodeError(BullrushError):
    """A script refused an operation.

    Attributes:
        code: BullMQ's negative result code.
    """

    code: int


class JobNotFoundError(ResultCodeError):
    """The job does not exist."""

    code = -1


class JobLockMissingError(ResultCodeError):
    """The job's lock has expired or was never there."""

    code = -2


class JobStateError(ResultCodeError):
    """The job is not in the state that the operation needs."""

    code = -3


class PendingDependenciesError(ResultCodeError):
    """The job has unfinished children."""

    code = -4


class ParentNotFoundError(ResultCodeError):
    """The parent does not exist."""

    code = -5


class JobLockMismatchError(ResultCodeError):
    """Another worker holds the job's lock."""

    code = -6


class ParentReplacedError(ResultCodeError):
    """The job exists and has another parent."""

    code = -7


class SchedulerJobError(ResultCodeError):
    """The job is the next job of a job scheduler: it can only be removed together with the scheduler."""

    code = -8


class FailedChildrenError(ResultCodeError, UnrecoverableError):
    """The job cannot complete because a child failed. It is not retried."""

    code = -9


class SchedulerCollisionError(ResultCodeError):
    """The scheduler's next job exists already (-10) or its slots are taken (-11)."""

    code = -10


_BY_CODE: dict[int, type[ResultCodeError]] = {
    **{kind.code: kind for kind in ResultCodeError.__subclasses__()},
    -11: SchedulerCollisionError,
}


def from_code(code: int, message: str) -> ResultCodeError:
    """Return the error of a script's result code, with BullMQ's text."""
    error = _BY_CODE.get(code, ResultCodeError)(message)
    error.code = code
    return error


# Errors that end a job, besides `UnrecoverableError`.


def of_class(name: str, message: str) -> Exception:
    """Return an error of the class with this name; a `JobFailedError` if there is no such class."""
    kind: type[Exception] = globals().get(name, TimeoutError if name == TimeoutError.__name__ else JobFailedError)
    return kind(message)


class JobFailedError(BullrushError):
    """A job failed; the message is its ``failedReason``.

    Attributes:
        error_type: the name of the class of the error that the job failed with, such as ``ConnectionError``, from its
            stack trace; None if it failed in Node, if the job is gone, or if nothing tells.
    """

    def __init__(self, message: str = "", error_type: str | None = None) -> None:
        """Make the error.

        Args:
            message: the reason.
            error_type: the name of the class.
        """
        super().__init__(message)
        self.error_type = error_type

    def __reduce__(self) -> tuple[type[JobFailedError], tuple[str, str | None]]:
        return type(self), (str(self), self.error_type)


class MalformedJobError(UnrecoverableError):
    """The stored fields of a job cannot be decoded. It is not retried."""


class JobCancelledError(UnrecoverableError):
    """The job was cancelled; the message is the reason."""


class WorkerProcessError(BullrushError):
    """The process that ran a job ended, or could not import the handler."""


class DelayedError(BullrushError):
    """Raised by a handler after `Job.move_to_delayed`: the job is not finished."""

    default_message = "bullmq:movedToDelayed"


class WaitingError(BullrushError):
    """Raised by a handler after `Job.move_to_wait`: the job is not finished."""

    default_message = "bullmq:movedToWait"


class WaitingChildrenError(BullrushError):
    """Raised by a handler after `Job.move_to_waiting_children`: the job is not finished."""

    default_message = "bullmq:movedToWaitingChildren"


class RateLimitError(BullrushError):
    """Raised by a handler after `Queue.rate_limit` or `Worker.rate_limit`: the job runs again after the limit."""

    default_message = "bullmq:rateLimitExceeded"
