"""The options of a task: those of its jobs, and those of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from bullrush.errors import InvalidOptionError
from bullrush.extending import (
    JOB_OPTIONS,
    Duration,
    OptionCompiler,
    check_known,
    checked_worker_options,
    checks,
    is_async,
)
from bullrush.job import JobOptions
from bullrush.retries import Classifier
from bullrush.routing import check_target


class TaskOptions(JobOptions, total=False):
    """Options of a task: those of its jobs, and three that the worker's code decides.

    Attributes:
        timeout: ms that one run may take, instead of the worker's ``timeout``.
        retry_if: gets the exception of a failed run; returns True or ``RETRY``, False or ``FAIL``,
            ``Retry(delay=...)`` of `bullrush.retries`, or None for no opinion.
        lock_duration: ms that the lock of a running job lasts without renewal; see ``lock_durations`` of
            `WorkerOptions`.
    """

    timeout: Duration | None
    retry_if: Classifier | None
    lock_duration: Duration | None


_OF_RUNS: Final = frozenset(["timeout", "retry_if", "lock_duration"])
#: Options of a worker that a registry decides otherwise, or that its workers cannot have.
_NOT_OF_TASKS: Final = {
    "url": "it is Tasks(url=...)",
    "prefix": "it is Tasks(prefix=...)",
    "settings": "write backoff_strategy",
    "autorun": "give it to the Worker",
    "batch_handler": "tasks run one by one",
    "batch_size": "tasks run one by one",
}


class RunOptions(NamedTuple):
    """The options of a task that are not stored in its jobs.

    Attributes:
        timeout: ms that one run may take; None leaves it to the worker.
        retry_if: decides about the exception of a failed run.
        lock_duration: ms that its lock lasts; None leaves it to the worker.
    """

    timeout: int | None = None
    retry_if: Classifier | None = None
    lock_duration: int | None = None


def read_task_options(options: Mapping[str, Any], defaults: JobOptions) -> tuple[JobOptions, RunOptions]:
    """Return the options of the jobs, with the defaults, and those of the runs.

    Raises:
        UnknownOptionError: an option does not exist.
        InvalidOptionError: an option has an invalid value.
    """
    check_known(options, JOB_OPTIONS | _OF_RUNS, "task()")
    retry_if = options.get("retry_if")
    if retry_if is not None and not callable(retry_if):
        raise InvalidOptionError(f"retry_if must be a function of the exception, not {retry_if!r}")
    if retry_if is not None and is_async(retry_if):
        raise InvalidOptionError("retry_if must be a plain function, not an async def")
    times = {
        name: checks.positive_milliseconds(name, options[name])
        for name in ("timeout", "lock_duration")
        if options.get(name) is not None
    }
    run = RunOptions(retry_if=retry_if, **times)
    return job_options({name: value for name, value in options.items() if name not in _OF_RUNS}, defaults), run


def job_options(options: Mapping[str, Any], defaults: JobOptions) -> JobOptions:
    """Return the options of a job with the defaults; all are checked now, where the program has them."""
    for name in _OF_RUNS & options.keys():
        raise InvalidOptionError(f"{name} is not an option of a job: the worker decides it. Give it to @task()")
    merged: JobOptions = {**defaults, **options}  # type: ignore[typeddict-item]
    if options.get("lifo") and "priority" not in options:
        # BullMQ ignores lifo of a job with a priority: who asks for lifo alone would get nothing.
        merged.pop("priority", None)
    OptionCompiler().compile({name: value for name, value in merged.items() if name != "target"})
    if merged.get("target") is not None:
        check_target("target", merged["target"])
    return merged


def check_worker_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a registry gives to its workers.

    Raises:
        UnknownOptionError: an option does not exist.
        InvalidOptionError: an option has an invalid value, or is not for registries.
    """
    if not isinstance(options, Mapping):
        raise InvalidOptionError(f"worker_options must be a dict of options of a Worker, not {options!r}")
    for name in options:
        if name in _NOT_OF_TASKS:
            raise InvalidOptionError(f"{name} is not for worker_options: {_NOT_OF_TASKS[name]}")
    checked_worker_options(options)
    return dict(options)
