"""Runs the jobs of Django's tasks in a worker, with Django's signals and connections of the database."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import django
from django.db import close_old_connections, reset_queries

from bullrush.django.framework import (
    TaskContext,
    TaskResultDoesNotExist,
    TaskResultStatus,
    normalize_json,
    task_backends,
    task_finished,
    task_started,
)
from bullrush.django.results import task_of, to_result
from bullrush.errors import MalformedJobError, UnrecoverableError
from bullrush.extending import JSON, UNKNOWN_DELAY, PostponedError, traceback_from_handler
from bullrush.job import Job

#: For so many names a worker logs that it has no task for them. Producers choose names.
_MOST_WARNINGS: Final = 1_000

_log: Final = logging.getLogger("bullrush.worker")


class TaskRunner:
    """The handler of all jobs of a backend, and the listener of their ends."""

    def __init__(self, backend: Any) -> None:
        self._alias: str = backend.alias
        self._sender = type(backend)
        self._delay_unknown = backend.settings.worker.get("unknown") == "delay"
        self._warned: set[str] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        return _in_process, (self._alias,)

    def __call__(self, job: Job) -> JSON:
        """Run the task of a job, on a thread; a coroutine function on an event loop of its own.

        Raises:
            UnrecoverableError: there is no such task.
            MalformedJobError: the data of the job are not its arguments.
        """
        with _as_in_a_request():
            try:
                task = task_of(job, self._alias)
                result = to_result(job, task, self._alias, TaskResultStatus.RUNNING)
            except TaskResultDoesNotExist as error:
                raise self._unknown(job, error) from error
            except TypeError as error:
                raise MalformedJobError(f"Job {job.id} {job.name!r}: {error}") from error
            context = [TaskContext(task_result=result)] if task.takes_context else []
            task_started.send(self._sender, task_result=result)
            value: JSON = normalize_json(task.call(*context, *result.args, **result.kwargs))
            return value

    def _unknown(self, job: Job, error: Exception) -> Exception:
        """Return what is raised for a job of no task: a deployment may have reached producers first."""
        if not self._delay_unknown:
            return UnrecoverableError(str(error))
        if job.name not in self._warned and len(self._warned) < _MOST_WARNINGS:
            self._warned.add(job.name)
            _log.warning("%s. Such jobs are delayed for %d ms, again and again", error, UNKNOWN_DELAY)
        return PostponedError()

    def completed(self, job: Job, _value: JSON) -> None:
        """Tell Django that a job completed."""
        self._finished(job, TaskResultStatus.SUCCESSFUL)

    def failed(self, job: Job, error: BaseException) -> None:
        """Tell Django that a job failed for good."""
        if job.finished_on is None:
            return  # it will be retried
        trace = error.__traceback__
        try:
            # Receivers log the exception that is being handled.
            raise error.with_traceback(traceback_from_handler(error))
        except type(error):
            self._finished(job, TaskResultStatus.FAILED)
        finally:
            error.__traceback__ = trace

    def _finished(self, job: Job, status: Any) -> None:
        with _as_in_a_request():
            try:
                result = to_result(job, task_of(job, self._alias), self._alias, status)
            except (TaskResultDoesNotExist, TypeError):
                return  # a job of no task, which the worker has failed
            task_finished.send(self._sender, task_result=result)


def _in_process(alias: str) -> TaskRunner:
    """Return the handler in a process of ``isolation="process"``."""
    django.setup()
    return TaskRunner(task_backends[alias])


@contextmanager
def _as_in_a_request() -> Iterator[None]:
    """Close connections of the database that are broken or too old, before and after, as Django does for a request."""
    reset_queries()
    close_old_connections()
    try:
        yield
    finally:
        close_old_connections()
