"""The backend for Django's tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.core import checks
from django.utils import timezone

from bullrush.django.arguments import to_data
from bullrush.django.framework import (
    BaseTaskBackend,
    InvalidTask,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from bullrush.django.options import Options, read_options
from bullrush.django.results import MOST_URGENT, find_task, task_of, to_result
from bullrush.errors import InvalidOptionError, QueueNameError
from bullrush.extending import JobStates, QueueAdding, QueueGetters, check_queue_name, run_async, run_blocking

#: Django's ids have at most 64 characters; a colon and an automatic id take up to 20.
_LONGEST_NAME: Final = 44
#: A result takes two reads. If the job changes in between, they are made again.
_MOST_READS: Final = 5
_FINISHED: Final = {"completed": TaskResultStatus.SUCCESSFUL, "failed": TaskResultStatus.FAILED}


class BullrushBackend(BaseTaskBackend):  # type: ignore[misc]
    """Adds Django's tasks to queues of BullMQ, and reads their results.

    ``TASKS = {"default": {"BACKEND": "bullrush.django.BullrushBackend", "QUEUES": ["default"], "OPTIONS": {"url":
    ...}}}``. ``OPTIONS``: ``url``, ``prefix``, ``timeout`` and ``telemetry`` as of a `bullrush.Queue`;
    ``default_job_options``, such as ``{"attempts": 3}``, see `bullrush.job.JobOptions`; ``worker_options``, such as
    ``{"timeout": 60_000}``, see `bullrush.worker.WorkerOptions`.

    A task is a job whose name is the task's import path and whose data are its arguments by name. A result is read from
    its job, so it lives as long: see ``remove_on_complete``.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        """Read an entry of ``TASKS``; Django does it.

        Args:
            alias: its key.
            params: its value.

        Raises:
            ImproperlyConfigured: an option does not exist or has an invalid value.
        """
        super().__init__(alias, params)
        self.settings: Options = read_options(alias, self.options)

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Add a job for a call of a task, and return its ``TaskResult``. It blocks; `aenqueue` is awaited.

        Args:
            task: the task; ``task.enqueue(...)`` calls this.
            args: the positional arguments of the call.
            kwargs: the keyword arguments of the call.

        Raises:
            InvalidTask: workers could not import the task, or it does not fit to this backend.
            TypeError: the task does not take these arguments, or one of them is not JSON.
            ConnectionLostError: Redis could not be reached; the job was not added.
            OutcomeUnknownError: the connection broke; the job was added or not.

        Redis:
            See `Queue.add`.
        """
        result = run_blocking(self._add(task, args, kwargs))
        task_enqueued.send(type(self), task_result=result)
        return result

    async def aenqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Add a job; see `enqueue`.

        Args:
            task: the task.
            args: the positional arguments of the call.
            kwargs: the keyword arguments of the call.
        """
        result = await run_async(self._add(task, args, kwargs))
        await task_enqueued.asend(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """Return the ``TaskResult`` of a job, as it is now. It blocks; `aget_result` is awaited.

        Args:
            result_id: the ``id`` of the result: the queue and the id of the job, such as ``mails:17``.

        Raises:
            TaskResultDoesNotExist: there is no such job, it was removed, or it is not of a task of this program.

        Redis:
            Two reads.
        """
        return run_blocking(self._read(result_id))

    async def aget_result(self, result_id: str) -> Any:
        """Return the ``TaskResult`` of a job; see `get_result`.

        Args:
            result_id: the ``id`` of the result.
        """
        return await run_async(self._read(result_id))

    def check(self, **kwargs: Any) -> Iterable[checks.CheckMessage]:  # noqa: ARG002 - Django may pass what it checks
        """Check the names of the queues, for ``manage.py check``.

        Args:
            kwargs: what Django checks; not used.
        """
        for name in sorted(self.queues):
            try:
                check_queue_name(name)
            except (QueueNameError, InvalidOptionError) as error:
                yield checks.Error(f"TASKS[{self.alias!r}]: {error}", id="bullrush.E001")
            else:
                if len(name) > _LONGEST_NAME:
                    yield checks.Warning(
                        f"TASKS[{self.alias!r}]: the ids of results of the queue {name!r} may have more than the 64 "
                        "characters that Django promises",
                        hint=f"Use a name of at most {_LONGEST_NAME} characters.",
                        id="bullrush.W001",
                    )

    async def _add(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        self.validate_task(task)
        if find_task(task.module_path).func is not task.func:
            raise InvalidTask(f"{task.module_path!r} is another task: workers import a task by this path")
        options = {**self.settings.job, "priority": MOST_URGENT - int(task.priority)}
        if task.run_after is not None:
            options["delay"] = _delay(task.run_after)
        queue = self.settings.open(task.queue_name)
        data = to_data(task, args, kwargs)
        job: Any = await QueueAdding.add.steps(queue, task.module_path, data, **options)
        result = to_result(job, task, self.alias, TaskResultStatus.READY)
        # As they were given, and not all by name.
        object.__setattr__(result, "args", list(args))
        object.__setattr__(result, "kwargs", dict(kwargs))
        result.__post_init__()
        return result

    async def _read(self, result_id: str) -> Any:
        queue_name, _, job_id = str(result_id).partition(":")
        if not job_id or (self.queues and queue_name not in self.queues):
            raise TaskResultDoesNotExist(result_id)
        queue = self.settings.open(queue_name)
        for _ in range(_MOST_READS):
            job: Any = await QueueGetters.get_job.steps(queue, job_id)
            state = "unknown" if job is None else await JobStates.get_state.steps(job)
            if state == "unknown":
                raise TaskResultDoesNotExist(result_id)
            if (state in _FINISHED) == (job.finished_on is not None):
                break  # else it finished, or was retried, between the two reads
        try:
            return to_result(job, task_of(job, self.alias), self.alias, _FINISHED.get(state) or _going_on(state))
        except TypeError as error:
            raise TaskResultDoesNotExist(f"The job {result_id} has no arguments of its task: {error}") from error


def _going_on(state: str) -> Any:
    return TaskResultStatus.RUNNING if state == "active" else TaskResultStatus.READY


def _delay(run_after: datetime) -> int:
    """Return the ms until a time; 0 if it is over."""
    now = timezone.now() if timezone.is_aware(run_after) else datetime.now()
    return max(0, round((run_after - now).total_seconds() * 1000))
