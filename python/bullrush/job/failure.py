"""What an exception of a handler means for its job: the failure's texts, and whether it may be retried."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import traceback
from collections.abc import Callable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson

from bullrush.base.cancellation import ended_from_outside
from bullrush.base.operation import maybe_await
from bullrush.errors import InvalidOptionError, TransientError
from bullrush.retries import FAIL, RETRY, Classifier, Retry, Verdict, delay_in_ms, read_verdict
from bullrush.values import checks
from bullrush.values.naming import nearest
from bullrush.values.shown import shown

if TYPE_CHECKING:
    from bullrush.job.fields import JobFields
    from bullrush.job.owner import BackoffStrategy

#: The default reason of a cancellation.
CANCELLED: Final = "The job was cancelled"

#: The reason of a failure whose exception raises when it is inspected.
INDESCRIBABLE: Final = "The handler raised an exception that cannot be described"

#: The backoff types that need no strategy of the worker.
_BACKOFFS: Final = ("fixed", "exponential")

#: The attribute with the stack of an exception that was raised in another process.
STACK_ATTRIBUTE: Final = "_bullrush_stack"

# Read from `type` itself, since a metaclass may override both.
_class_name: Final[Callable[[type], str]] = type.__dict__["__name__"].__get__
_bases: Final[Callable[[type], tuple[type, ...]]] = type.__dict__["__mro__"].__get__

_MAX_FRAMES: Final = 50
_RATE_LIMITED: Final = "bullmq:rateLimitExceeded"
_NO_RETRY: Final = -1
_MILLISECOND: Final = timedelta(milliseconds=1)

_NODE_FRAME: Final = re.compile(r"^ +at ", re.MULTILINE)

_log: Final = logging.getLogger("bullrush")


class Failure(NamedTuple):
    """A failed attempt, in the form that the core takes."""

    reason: str
    stack: str
    retry: bool
    delay: int | None = None


def is_named(error: BaseException, *names: str) -> bool:
    """Tell whether one of the error's classes has one of these names.

    Classes of other libraries with such a name count, too.
    """
    return any(_class_name(kind) in names for kind in _bases(type(error)))


def is_rate_limit(error: BaseException) -> bool:
    """Tell whether the handler has rate limited its queue."""
    return is_named(error, "RateLimitError") or _text(error) == _RATE_LIMITED


def has_moved(error: BaseException) -> bool:
    """Tell whether the handler has moved the job elsewhere itself."""
    return is_named(error, "DelayedError", "WaitingError", "WaitingChildrenError")


def is_interrupt(error: BaseException) -> bool:
    """Tell whether an exception is Ctrl-C: a `KeyboardInterrupt` in the main thread.

    In other threads user code raised it.
    """
    # By its type: `isinstance` reads `__class__`, which an exception may override.
    return issubclass(type(error), KeyboardInterrupt) and threading.current_thread() is threading.main_thread()


def must_propagate(error: BaseException) -> bool:
    """Tell whether an exception does not concern the job but the program: Ctrl-C, or the waiting task was cancelled."""
    return is_interrupt(error) or (issubclass(type(error), asyncio.CancelledError) and ended_from_outside(error))


def describe(error: BaseException, *, retry: bool) -> Failure:
    """Return the failure for an exception."""
    return Failure(_text(error) or _class_name(type(error)), _stack(error), retry)


async def decide_retry(
    job: JobFields,
    error: BaseException,
    backoff_type: str | None,
    strategy: BackoffStrategy | None,
    classifiers: Mapping[str, Classifier],
) -> Failure:
    """Return how an attempt failed, and whether and when the job is retried.

    It is part of an operation and never raises.

    Args:
        job: the job.
        error: the exception that the handler raised.
        backoff_type: the job's backoff type if it needs the custom strategy, else None.
        strategy: the custom strategy.
        classifiers: are asked about the exception, one after another, until one has an opinion; each by the option
            that it was given as.
    """
    try:
        return await _decide_retry(job, error, backoff_type, strategy, classifiers)
    except BaseException:  # reading the exception runs user code
        return Failure(INDESCRIBABLE, "", retry=True)


async def _decide_retry(
    job: JobFields,
    error: BaseException,
    backoff_type: str | None,
    strategy: BackoffStrategy | None,
    classifiers: Mapping[str, Classifier],
) -> Failure:
    failure = describe(error, retry=not job._discarded and not is_named(error, "UnrecoverableError"))
    if not failure.retry:
        return failure
    verdict = (
        _said_by_handler(job, error) if issubclass(type(error), TransientError) else _asked(job, error, classifiers)
    )
    if verdict == FAIL:
        return failure._replace(retry=False)
    if isinstance(verdict, Retry) and verdict.delay is not None:
        return failure._replace(delay=delay_in_ms(verdict.delay))
    if backoff_type is None:
        return failure
    if strategy is None:
        # BullMQ would leave the job active for good.
        return failure._replace(reason=f"{failure.reason} ({_without_strategy(backoff_type)})", retry=False)
    try:
        delay = _delay(await maybe_await(strategy(job.attempts_made + 1, backoff_type, error, job)))
    except BaseException as broken:
        # BullMQ would leave the job active. Here it is retried: the failure of a strategy does not cost attempts.
        delay = _plain_delay(job)
        raised = _class_name(type(broken))
        _log.error("The backoff strategy raised %s for job %s, which is retried after %d ms", raised, job.id, delay)
        job._report_error(broken)
    return failure._replace(delay=delay)


def _said_by_handler(job: JobFields, error: BaseException) -> Verdict:
    """Return the verdict of a `TransientError`."""
    try:
        return Retry(error.delay)  # type: ignore[attr-defined]
    except BaseException as broken:
        _log.error("The delay of a TransientError of job %s is not valid: its backoff applies", job.id)
        job._report_error(broken)
        return RETRY


def _without_strategy(backoff_type: str) -> str:
    """Return why a job whose backoff needs a strategy that its worker has not is not retried."""
    needs = f"not retried: the backoff type {shown(backoff_type)} needs an option of the worker, "
    if backoff_type == checks.BULL_EXPONENTIAL:
        return f"{needs}Worker(backoff_strategy=bullrush.legacy.bull_backoff)"
    return f"{needs}Worker(backoff_strategy=...).{nearest(backoff_type, _BACKOFFS)}"


def _asked(job: JobFields, error: BaseException, classifiers: Mapping[str, Classifier]) -> Verdict | None:
    """Return what the first classifier with an opinion says. One that raises, or answers anything else, has none."""
    for option, classify in classifiers.items():
        try:
            answered: object = classify(error)
        except BaseException as broken:
            _ignore(job, f"{option} raised {_class_name(type(broken))}", broken)
            continue
        try:
            verdict = read_verdict(option, answered)
        except BaseException as broken:
            _ignore(job, _text(broken), broken)
            continue
        if verdict is not None:
            return verdict
    return None


def _ignore(job: JobFields, problem: str, error: BaseException) -> None:
    """Report a classifier that has no say."""
    _log.error("%s: the options of job %s decide instead", problem, job.id)
    job._report_error(error)


def _delay(answered: object) -> int:
    """Return the result of a strategy in ms; -1 is no retry."""
    if isinstance(answered, timedelta):
        return max(0, round(answered / _MILLISECOND))
    if answered is None or answered != answered:  # NaN counts as 0 in Node
        return 0
    if isinstance(answered, bool) or not isinstance(answered, int | float) or answered > checks.MAX_SAFE_INTEGER:
        raise InvalidOptionError(
            f"backoff_strategy must return milliseconds, a timedelta or None, not {shown(answered)}"
        )
    return _NO_RETRY if answered == _NO_RETRY else max(0, round(answered))


def _plain_delay(job: JobFields) -> int:
    """Return the delay in the job's own backoff option."""
    backoff = job.opts.get("backoff")
    delay = backoff.get("delay") if isinstance(backoff, dict) else backoff
    return max(0, round(delay)) if isinstance(delay, int | float) else 0


def _text(error: BaseException) -> str:
    try:
        return _as_utf8(str(error))
    except BaseException:  # `__str__` is user code
        return f"<unprintable {_class_name(type(error))}>"


def _stack(error: BaseException) -> str:
    """Return the error on the first line, as Node does, then Python's traceback, starting at the handler."""
    # Without calling the error's own `__getattr__`.
    if (stack := object.__getattribute__(error, "__dict__").get(STACK_ATTRIBUTE)) is not None:
        return _as_utf8(stack)
    trace = traceback_from_handler(error)
    try:
        report = traceback.TracebackException(type(error), error, trace, limit=-_MAX_FRAMES, compact=True)
        title, text = ("".join(part).rstrip("\n") for part in (report.format_exception_only(), report.format()))
    except BaseException:  # it reads attributes and causes, which runs user code
        title = f"{_class_name(type(error))}: {_text(error)}"
        text = "".join(traceback.format_tb(trace, -_MAX_FRAMES)).rstrip("\n")
        text = text and f"Traceback (most recent call last):\n{text}\n{title}"
    # An error that was never raised has no traceback.
    return _as_utf8(title if not text or text == title else f"{title}\n{text}")


def last_stack(stacks: bytes | None) -> str:
    """Return the stack trace of the last attempt, from the field of the job; "" if there is none that can be read."""
    try:
        found: object = orjson.loads(stacks or b"[]")
    except ValueError:
        return ""
    return found[-1] if isinstance(found, list) and found and isinstance(found[-1], str) else ""


def error_type(stack: str) -> str | None:
    """Return the name of the class of the error, without its module, from a stack trace as `describe` writes it.

    Args:
        stack: the stack trace of an attempt; any text.

    Returns:
        The name; None if the stack trace is one of Node, or names no class.
    """
    # Errors of Node have a class, too, but most of them are `Error`.
    if _NODE_FRAME.search(stack):
        return None
    name = stack.partition("\n")[0].partition(":")[0].rpartition(".")[2]
    return name if name.isidentifier() else None


def traceback_from_handler(error: BaseException) -> TracebackType | None:
    """Return the traceback of an exception, starting at the handler."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("bullrush."):
        trace = trace.tb_next
    return trace


def _as_utf8(text: str) -> str:
    """Return a text that is valid UTF-8: lone surrogates are escaped."""
    return str.encode(text, errors="backslashreplace").decode()
