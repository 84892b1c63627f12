"""From an exception of a handler to what the core is told about it."""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from bullrush.base.cancellation import ended_from_outside
from bullrush.base.operation import maybe_await
from bullrush.errors import InvalidOptionError, UnrecoverableError
from bullrush.values import checks

if TYPE_CHECKING:
    from bullrush.job.fields import BackoffStrategy, JobFields

#: The reason of a cancellation that gives none.
CANCELLED: Final = "The job was cancelled"

#: What stands for an exception that cannot be asked what it is.
INDESCRIBABLE: Final = "The handler raised an exception that cannot be described"

#: The attribute that holds the stack of an exception which was raised in another process.
STACK_ATTRIBUTE: Final = "_bullrush_stack"

# Past what a metaclass makes of them.
_class_name: Final[Callable[[type], str]] = type.__dict__["__name__"].__get__
_bases: Final[Callable[[type], tuple[type, ...]]] = type.__dict__["__mro__"].__get__

_MOST_FRAMES: Final = 50
_RATE_LIMITED: Final = "bullmq:rateLimitExceeded"
_NEVER: Final = -1
_MILLISECOND: Final = timedelta(milliseconds=1)

_log: Final = logging.getLogger("bullrush")


class Failure(NamedTuple):
    """A failed attempt, as the core takes it."""

    reason: str
    stack: str
    retry: bool
    delay: int | None = None


def is_named(error: BaseException, *names: str) -> bool:
    """Tell whether an error is of one of these classes, by name, so that other libraries' errors of that name count, too."""
    return any(_class_name(kind) in names for kind in _bases(type(error)))


def is_rate_limit(error: BaseException) -> bool:
    """Tell whether the handler has rate limited its queue."""
    return is_named(error, "RateLimitError") or _text(error) == _RATE_LIMITED


def has_moved(error: BaseException) -> bool:
    """Tell whether the handler has moved the job elsewhere itself."""
    return is_named(error, "DelayedError", "WaitingError", "WaitingChildrenError")


def is_interrupt(error: BaseException) -> bool:
    """Tell whether an exception is Ctrl-C. In other threads than the main one somebody raised it by hand."""
    # By its type: an exception may lie about its class, or fail to tell it.
    return issubclass(type(error), KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def must_propagate(error: BaseException) -> bool:
    """Tell whether an exception that left a handler is no news of its job: Ctrl-C, or the task that waits was cancelled."""
    return is_interrupt(error) or (issubclass(type(error), asyncio.CancelledError) and ended_from_outside(error))


def describe(error: BaseException, *, retry: bool) -> Failure:
    """Return the failure that an exception stands for."""
    return Failure(_text(error) or _class_name(type(error)), _stack(error), retry)


async def decide(
    job: JobFields, error: BaseException, backoff_type: str | None, strategy: BackoffStrategy | None
) -> Failure:
    """Return how an attempt failed and whether another one follows; steps of an operation, for a strategy may be awaited.

    Whatever was raised, there is an answer.

    Args:
        job: the job.
        error: what its handler raised.
        backoff_type: the job's backoff type if only a custom strategy knows it.
        strategy: the custom strategy.
    """
    try:
        return await _decide(job, error, backoff_type, strategy)
    except BaseException:  # all of that reads the exception, and an exception is the user's code
        return Failure(INDESCRIBABLE, "", retry=True)


async def _decide(
    job: JobFields, error: BaseException, backoff_type: str | None, strategy: BackoffStrategy | None
) -> Failure:
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
        delay = _delay(await maybe_await(strategy(job.attempts_made + 1, backoff_type, error, job)))
    except BaseException as broken:
        # BullMQ would leave the job active. That a strategy is broken is no reason to give an attempt away.
        delay = _plain_delay(job)
        told = _class_name(type(broken))
        _log.error("The backoff strategy raised %s for job %s, which is retried after %d ms", told, job.id, delay)
        job.trouble(broken)
    return failure._replace(delay=delay)


def _delay(answered: object) -> int:
    """Return what a strategy answered in ms; -1 is no retry."""
    if isinstance(answered, timedelta):
        return max(0, round(answered / _MILLISECOND))
    if answered is None or answered != answered:  # NaN is nothing in Node
        return 0
    if isinstance(answered, bool) or not isinstance(answered, int | float) or answered > checks.MAX_SAFE_INTEGER:
        raise InvalidOptionError(f"backoff_strategy must return milliseconds, a timedelta or None, not {answered!r}")
    return _NEVER if answered == _NEVER else max(0, round(answered))


def _plain_delay(job: JobFields) -> int:
    """Return the delay in the job's own backoff option."""
    backoff = job.opts.get("backoff")
    delay = backoff.get("delay") if isinstance(backoff, dict) else backoff
    return max(0, round(delay)) if isinstance(delay, int | float) else 0


def _text(error: BaseException) -> str:
    try:
        return _sendable(str(error))
    except BaseException:  # `__str__` is the user's code
        return f"<unprintable {_class_name(type(error))}>"


def _stack(error: BaseException) -> str:
    """Return the error on the first line, as Node does, and then Python's own traceback, from the handler on."""
    # Past the error's own `__getattr__`.
    if (told := object.__getattribute__(error, "__dict__").get(STACK_ATTRIBUTE)) is not None:
        return _sendable(told)
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("bullrush."):
        trace = trace.tb_next
    try:
        report = traceback.TracebackException(type(error), error, trace, limit=-_MOST_FRAMES, compact=True)
        title, told = ("".join(part).rstrip("\n") for part in (report.format_exception_only(), report.format()))
    except BaseException:  # it reads attributes and causes, which may be of any make
        title = f"{_class_name(type(error))}: {_text(error)}"
        told = "".join(traceback.format_tb(trace, -_MOST_FRAMES)).rstrip("\n")
        told = told and f"Traceback (most recent call last):\n{told}\n{title}"
    # An error that was never raised has no traceback.
    return _sendable(title if not told or told == title else f"{title}\n{told}")


def _sendable(text: str) -> str:
    """Return a text that UTF-8 can carry: an error may quote a lone surrogate."""
    return str.encode(text, errors="backslashreplace").decode()
