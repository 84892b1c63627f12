"""Checks the arguments of `drain` and `worker` on the driver, before any task starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from bullrush.errors import InvalidOptionError
from bullrush.extending import checks
from bullrush.spark.address import Address
from bullrush.spark.draining.pickling import check_can_be_sent
from bullrush.spark.routing.profiles import on_driver, with_profile
from bullrush.spark.tasks.arrow_handler import ArrowHandler
from bullrush.worker import Worker

#: Options of a worker that are functions or objects of the program.
_OF_PROGRAM: Final = ("batch_handler", "backoff_strategy", "classify", "telemetry", "settings")
_ARROW_BATCH: Final = 1_000


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Check that an option is one of some texts.

    Raises:
        InvalidOptionError: it is not.
    """
    if value not in choices:
        raise InvalidOptionError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")


def read_stop(until: object, max_jobs: object, max_seconds: object, horizon: object) -> dict[str, Any]:
    """Check when a worker in a task ends; return the arguments of `Worker.run`.

    Raises:
        InvalidOptionError: a value is wrong, or nothing ends the worker.
    """
    if until not in (None, "empty", "drained"):
        raise InvalidOptionError(f"until must be None, 'empty' or 'drained', not {until!r}")
    if until is None and max_jobs is None and max_seconds is None:
        raise InvalidOptionError("a worker in a task needs an end: until, max_jobs or max_seconds")
    if (ahead := checks.milliseconds("horizon", horizon)) < 0:
        raise InvalidOptionError(f"horizon must not be negative, not {horizon!r}")
    return {
        "until": until,
        "max_jobs": None if max_jobs is None else checks.at_least(1)("max_jobs", max_jobs),
        "max_seconds": None if max_seconds is None else checks.positive_seconds("max_seconds", max_seconds),
        "horizon": ahead,
    }


def check_worker(what: str, address: Address, handler: Callable[[Any], Any] | None, options: Mapping[str, Any]) -> None:
    """Check the handler and the options of the workers, and that they can be sent to the executors.

    Raises:
        QueueNameError: the queue's name cannot be used.
        InvalidOptionError: an option is wrong, there is no handler, or something cannot be pickled.
    """
    if options.get("autorun"):
        raise InvalidOptionError(f"{what} runs its workers in tasks: leave autorun out")
    if isinstance(handler, ArrowHandler):
        raise InvalidOptionError("An arrow_handler gets many jobs at once: give it as batch_handler=")
    Worker(address.name, handler, prefix=address.prefix, **on_driver(options))
    if handler is None and options.get("batch_handler") is None:
        raise InvalidOptionError(f"{what} needs a handler or a batch_handler")
    if handler is not None:
        check_can_be_sent("the handler", handler)
    for name in _OF_PROGRAM:
        if options.get(name) is not None:
            check_can_be_sent(name, options[name])


def worker_options(options: Mapping[str, Any], profile: object) -> dict[str, Any]:
    """Return the options of the workers. Batches of an Arrow handler have up to 1,000 jobs by default, and not 1.

    Raises:
        InvalidOptionError: the profile is no dict and no function, or cannot be sent to the executors.
    """
    arrow = isinstance(options.get("batch_handler"), ArrowHandler)
    return with_profile({"batch_size": _ARROW_BATCH, **options} if arrow else dict(options), profile)


def check_results_stay(options: Mapping[str, Any]) -> None:
    """Check that the workers' keep rules leave the results in Redis, from where they are read.

    Raises:
        InvalidOptionError: a rule removes jobs at once.
    """
    for name in ("remove_on_complete", "remove_on_fail"):
        rule = options.get(name)
        counts = (rule.get("count"), rule.get("age")) if isinstance(rule, Mapping) else (rule,)
        if rule is True or any(count == 0 and count is not False for count in counts):
            raise InvalidOptionError(
                f"{name}={rule!r} removes each job when it finishes, and the results of a drain are read from the "
                "jobs. Keep the jobs for as long as you read the results, such as {'age': 86400} (seconds), "
                "or give results='tasks' to take the results from the tasks"
            )
