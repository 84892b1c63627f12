"""Every error bullrush raises, defined in Python so that each one pickles.

The compiled core raises these classes by name; a negative reply of a script becomes one class per BullMQ result code, built by `from_code`.
"""

from __future__ import annotations

from typing import ClassVar


class BullrushError(Exception):
    """Base of all errors of this package."""

    code: int | str | None = None
    default_message: ClassVar[str] = ""

    def __init__(self, *args: object) -> None:
        """Take the message, or the class's default one."""
        super().__init__(*(args or ((self.default_message,) if self.default_message else ())))


# What a caller can get wrong.


class InvalidOptionError(BullrushError, ValueError):
    """An option has a value that cannot be used."""


class UnknownOptionError(InvalidOptionError, TypeError):
    """An option does not exist; the message names the nearest one."""


class QueueNameError(BullrushError, ValueError):
    """A queue name is missing or has characters that a key cannot carry."""


class DataError(BullrushError, TypeError, ValueError):
    """A value is not JSON; the message names the path inside the value."""


class TooLargeError(BullrushError, ValueError):
    """A value is longer than the server takes (``proto-max-bulk-len``, 512 MB by default). Nothing was written."""


# What can happen to a connection.


class ConnectionLostError(BullrushError, ConnectionError):
    """Redis could not be reached, or did not answer to a look: nothing was changed."""


class OutcomeUnknownError(BullrushError):
    """A command was sent and its reply never came: it may have run or not."""


class RedisServerError(BullrushError):
    """Redis answered with an error.

    Attributes:
        code: the first word of Redis' answer, such as ``OOM`` or ``NOPERM``.
    """

    def __init__(self, code: str, message: str) -> None:
        """Keep both parts."""
        super().__init__(code, message)
        self.code = code

    def __str__(self) -> str:
        """Return the text as Redis sent it."""
        return f"{self.args[0]} {self.args[1]}"


class RedisVersionError(BullrushError):
    """The server is too old."""


class LegacyQueueError(BullrushError):
    """The queue's keys were written by Bull, BullMQ's predecessor; sharing them would corrupt both."""


class ClosedError(BullrushError):
    """The queue or worker was closed before this call."""

    default_message = "Connection is closed."


class UnrecoverableError(BullrushError):
    """Raised by a handler: fail the job now, whatever attempts it has left."""

    default_message = "bullmq:unrecoverable"


# What a script refused, one class per result code.


class ResultCodeError(BullrushError):
    """A script refused an operation.

    Attributes:
        code: BullMQ's negative result code.
    """


class JobNotFoundError(ResultCodeError):
    """The job does not exist."""

    code = -1


class JobLockMissingError(ResultCodeError):
    """The job's lock has expired."""

    code = -2


class JobStateError(ResultCodeError):
    """The job is not in the state that the operation needs."""

    code = -3


class PendingDependenciesError(ResultCodeError):
    """The job still waits for children."""

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
    """The job belongs to a job scheduler and cannot be removed alone."""

    code = -8


class FailedChildrenError(ResultCodeError, UnrecoverableError):
    """The job cannot complete: a child of it failed, and will not complete when it runs again."""

    code = -9


class SchedulerCollisionError(ResultCodeError):
    """The scheduler's next job exists already (-10) or its slots are taken (-11)."""

    code = -10


_BY_CODE: dict[int, type[ResultCodeError]] = {
    -1: JobNotFoundError,
    -2: JobLockMissingError,
    -3: JobStateError,
    -4: PendingDependenciesError,
    -5: ParentNotFoundError,
    -6: JobLockMismatchError,
    -7: ParentReplacedError,
    -8: SchedulerJobError,
    -9: FailedChildrenError,
    -10: SchedulerCollisionError,
    -11: SchedulerCollisionError,
}


def from_code(code: int, message: str) -> ResultCodeError:
    """Return the error of a script's result code, with BullMQ's text."""
    error = _BY_CODE.get(code, ResultCodeError)(message)
    error.code = code
    return error


# What a job can end with, besides `UnrecoverableError`.


def of_class(name: str, message: str) -> Exception:
    """Return an error of the class that the core names."""
    kind: type[Exception] = globals().get(name, TimeoutError if name == TimeoutError.__name__ else JobFailedError)
    return kind(message)


class JobFailedError(BullrushError):
    """A job failed; the message is its ``failedReason``."""


class MalformedJobError(UnrecoverableError):
    """A job's stored fields cannot be read; running it again would not help."""


class JobCancelledError(UnrecoverableError):
    """Someone cancelled the job; the message is the reason."""


class WorkerProcessError(BullrushError):
    """The process that ran a job has ended, or could not load the handler."""


class DelayedError(BullrushError):
    """Raised by a handler that has moved its job to delayed."""

    default_message = "bullmq:movedToDelayed"


class WaitingError(BullrushError):
    """Raised by a handler that has moved its job back to wait."""

    default_message = "bullmq:movedToWait"


class WaitingChildrenError(BullrushError):
    """Raised by a handler that has moved its job to waiting-children."""

    default_message = "bullmq:movedToWaitingChildren"


class RateLimitError(BullrushError):
    """Raised by a handler that has rate limited the queue: the job runs again once the limit is over."""

    default_message = "bullmq:rateLimitExceeded"
