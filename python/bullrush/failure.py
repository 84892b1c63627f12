"""From an exception of a handler to what the core is told about it."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final, NamedTuple

from bullrush import checks
from bullrush.errors import UnrecoverableError

if TYPE_CHECKING:
    from bullrush.job import JobCalls
    from bullrush.worker_options import BackoffStrategy

#: The reason of a cancellation that gives none.
CANCELLED: Final = "The job was cancelled"

#: The attribute that holds the stack of an exception which was raised in another process.
STACK: Final = "_bullrush_stack"

_MOST_FRAMES: Final = 50
_RATE_LIMITED: Final = "bullmq:rateLimitExceeded"
_NEVER: Final = -1


class Failure(NamedTuple):
    """A failed attempt, as the core takes it."""

    reason: str
    stack: str
    retry: bool
    delay: int | None = None


def is_named(error: BaseException, *names: str) -> bool:
    """Tell whether an error is of one of these classes, by name, so that other libraries' errors of that name count, too."""
    return any(kind.__name__ in names for kind in type(error).__mro__)


def is_rate_limit(error: BaseException) -> bool:
    """Tell whether the handler has rate limited its queue."""
    return is_named(error, "RateLimitError") or _text(error) == _RATE_LIMITED


def has_moved(error: BaseException) -> bool:
    """Tell whether the handler has moved the job elsewhere itself."""
    return is_named(error, "DelayedError", "WaitingError", "WaitingChildrenError")


def describe(error: BaseException, *, retry: bool) -> Failure:
    """Return the failure that an exception stands for."""
    return Failure(_text(error) or type(error).__name__, _stack(error), retry)


def decide(job: JobCalls, error: BaseException, backoff_type: str | None, strategy: BackoffStrategy | None) -> Failure:
    """Return how an attempt failed and whether another one follows.

    Args:
        job: the job.
        error: what its handler raised.
        backoff_type: the job's backoff type if only a custom strategy knows it.
        strategy: the custom strategy.
    """
    failure = describe(error, retry=not job.discarded and not is_named(error, "UnrecoverableError"))
    if not failure.retry or backoff_type is None:
        return failure
    if strategy is None:
        # BullMQ would leave the job active for good.
        unknown = UnrecoverableError(
            f"Unknown backoff strategy {backoff_type}. If a custom backoff strategy is used, specify it when the queue is created."
        )
        unknown.__cause__ = error
        return describe(unknown, retry=False)
    try:
        wait = strategy(job.attempts_made + 1, backoff_type, error, job)
        delay = _NEVER if wait == _NEVER else max(0, checks.milliseconds("backoff_strategy's result", wait))
    except Exception as broken:
        broken.__cause__ = error
        return describe(broken, retry=False)
    return failure._replace(delay=delay)


def _text(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = f"<unprintable {type(error).__name__}>"
    return _sendable(text)


def _stack(error: BaseException) -> str:
    """Return the error on the first line, as Node does, and then Python's own traceback, from the handler on."""
    if (told := getattr(error, STACK, None)) is not None:
        return _sendable(told)
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("bullrush."):
        trace = trace.tb_next
    report = traceback.TracebackException(type(error), error, trace, limit=-_MOST_FRAMES, compact=True)
    title = "".join(report.format_exception_only()).rstrip("\n")
    told = "".join(report.format()).rstrip("\n")
    # An error that was never raised has no traceback.
    return _sendable(title if told == title else f"{title}\n{told}")


def _sendable(text: str) -> str:
    """Return a text that UTF-8 can carry: an error may quote a lone surrogate."""
    return text.encode(errors="backslashreplace").decode()
