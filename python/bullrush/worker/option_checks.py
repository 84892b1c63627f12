"""The checks of single options that only workers have. How options go together: `checked_worker_options`."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from bullrush.errors import InvalidOptionError, QueueNameError
from bullrush.job.option_compiler import OptionCompiler
from bullrush.values import checks
from bullrush.values.checks import Check
from bullrush.values.naming import check_known, check_queue_name
from bullrush.values.shown import shown
from bullrush.worker.handlers.signature import is_async

_MIN_DRAIN_DELAY: Final = 100
_RUN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

_log: Final = logging.getLogger("bullrush")


def check_concurrency(name: str, value: object) -> int:
    """Return a number of jobs that run at the same time."""
    try:
        return cast("int", checks.at_least(1)(name, value))
    except InvalidOptionError:
        raise InvalidOptionError(f"{name} must be a finite number greater than 0, not {shown(value)}") from None


def check_durations(name: str, value: object) -> dict[str, int]:
    """Return times in ms by the names of jobs."""
    if not isinstance(value, Mapping):
        raise InvalidOptionError(f"{name} must be a dict of times by the names of jobs, not {shown(value)}")
    return {
        checks.text(f"a name in {name}", job): checks.positive_milliseconds(f"{name}[{shown(job)}]", duration)
        for job, duration in value.items()
    }


def check_callable(name: str, value: object) -> Any:
    """Return a function."""
    if not callable(value):
        raise InvalidOptionError(f"{name} must be a function, not {shown(value)}")
    return value


def check_classifier(name: str, value: object) -> Any:
    """Return a plain function, which decides about exceptions."""
    if is_async(check_callable(name, value)):
        raise InvalidOptionError(f"{name} must be a plain function, not an async def")
    return value


def check_drain_delay(name: str, value: object) -> int:
    """Return a drain delay in ms.

    A very small one is probably in seconds, as in BullMQ, and would poll Redis all the time.
    """
    delay = checks.positive_milliseconds(name, value)
    if delay < _MIN_DRAIN_DELAY:
        _log.warning(
            "%s=%r is in milliseconds; were seconds meant, as in BullMQ? Then write %s=%d. The minimum of %d is used",
            name,
            value,
            name,
            delay * 1_000,
            _MIN_DRAIN_DELAY,
        )
    return max(delay, _MIN_DRAIN_DELAY)


def check_payload_limit(name: str, value: object) -> tuple[int, bool]:
    """Return the most bytes of the data and of the result of a job, and whether jobs with more data fail.

    The default is such a pair already.
    """
    return value if isinstance(value, tuple) else (cast("int", checks.at_least(1)(name, value)), True)


def check_run(name: str, value: object) -> str:
    """Return the name of a run."""
    if not isinstance(value, str) or not _RUN.fullmatch(value):
        raise InvalidOptionError(f"{name} must be 1 to 64 letters, digits, - or _, not {shown(value)}")
    return value


def check_results_queue(name: str, value: object) -> str:
    """Return the name of a queue."""
    try:
        return check_queue_name(value)
    except QueueNameError as error:
        raise InvalidOptionError(f"{name} must be the name of a queue, not {shown(value)}: {error}") from None


#: Those of the jobs in a queue for results: an outcome is there at once, and has no parent and no id of its own.
_OF_RESULTS: Final = frozenset(
    {"attempts", "backoff", "keep_logs", "remove_on_complete", "remove_on_fail", "stack_trace_limit"}
)


def check_results_options(name: str, value: object) -> str:
    """Return the options of the jobs in a queue for results, as they are stored."""
    if not isinstance(value, Mapping):
        raise InvalidOptionError(f"{name} must be a dict of options of jobs, not {shown(value)}")
    check_known(value, _OF_RESULTS, name)
    compiled, _ = OptionCompiler().compile(value)
    return compiled.stored.decode()


_LIMITER: Final[dict[str, Check]] = {"max": checks.at_least(1), "duration": checks.positive_milliseconds}
_METRICS: Final[dict[str, Check]] = {"max_data_points": checks.at_least(1)}


def check_limiter(name: str, value: object) -> tuple[int, int]:
    """Return how many jobs may start, and in how many ms."""
    limiter = checks.members(name, value, _LIMITER)
    if limiter.keys() != _LIMITER.keys():
        raise InvalidOptionError(f"{name} needs max and duration (ms), such as {{'max': 10, 'duration': 1000}}")
    return limiter["max"], limiter["duration"]


def check_metrics(name: str, value: object) -> int | None:
    """Return of how many minutes finished jobs are counted."""
    return checks.members(name, value, _METRICS).get("max_data_points")


def check_keep(name: str, value: object) -> tuple[int, int | None]:
    """Return the count and the age in seconds; a count of -1 keeps all jobs."""
    rule = checks.keep(name, value)
    if isinstance(rule, bool):
        return (0 if rule else -1), None
    if isinstance(rule, int):
        return rule, None
    return rule.get("count", -1), rule.get("age")
