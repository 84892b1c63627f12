"""Jobs as Django's ``TaskResult``. Its id is ``queue:job id``, since job ids are unique in their queue only."""

from __future__ import annotations

import builtins
import re
from datetime import datetime, timezone
from typing import Any, Final

from django.conf import settings
from django.utils.module_loading import import_string

from bullrush.django.arguments import to_call
from bullrush.django.framework import (
    InvalidTask,
    Task,
    TaskError,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
)
from bullrush.extending import JobCalls

#: Django's highest priority is BullMQ's 0, the most urgent.
MOST_URGENT: Final = 100
_LEAST_URGENT: Final = -100
#: BullMQ keeps the name of the worker of the last attempt only.
_UNKNOWN: Final = "unknown"
#: The import path of a class. Those of other languages have none, and those inside a function cannot be imported.
_PATH: Final = re.compile(r"\w+(\.\w+)+")
_TRACEBACK: Final = "Traceback (most recent call last):\n"


def find_task(path: str) -> Any:
    """Return the task with this import path, the name of its jobs.

    Raises:
        InvalidTask: there is none.
    """
    try:
        found = import_string(path)
    except ImportError as error:
        raise InvalidTask(f"There is no task {path!r}: {error}") from error
    if not isinstance(found, Task):
        raise InvalidTask(f"{path!r} is a {type(found).__name__}, not a task")
    return found


def moment(ms: int | None) -> datetime | None:
    """Return ms since 1970 as Django's time: aware with ``USE_TZ``, else local."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, timezone.utc if settings.USE_TZ else None)


def result_id(job: JobCalls) -> str:
    """Return the id of the result of a job."""
    return f"{job.queue_name}:{job.id}"


def task_of(job: JobCalls, alias: str) -> Any:
    """Return the task of a job, with the options that the job has.

    Raises:
        TaskResultDoesNotExist: its name is no task of this program.
    """
    try:
        found = find_task(job.name)
        priority = max(_LEAST_URGENT, MOST_URGENT - job.priority)
        task = found.using(backend=alias, queue_name=job.queue_name, priority=priority)
    except InvalidTask as error:
        raise TaskResultDoesNotExist(f"The job {result_id(job)} is not of a task: {error}") from error
    delay = job.opts.get("delay")
    if isinstance(delay, int) and delay > 0:
        task = task.using(run_after=moment((job.timestamp or 0) + delay))
    return task


def to_result(job: JobCalls, task: Any, alias: str, status: Any) -> Any:
    """Return a job as the result of its task.

    Raises:
        TypeError: its data are no arguments of the task.
    """
    args, kwargs = to_call(task, job.data)
    started = max(job.attempts_started, job.attempts_made, int(status == TaskResultStatus.RUNNING))
    result = TaskResult(
        task=task,
        id=result_id(job),
        status=status,
        enqueued_at=moment(job.timestamp),
        started_at=moment(job.processed_on),
        finished_at=moment(job.finished_on),
        last_attempted_at=moment(job.processed_on),
        args=args,
        kwargs=kwargs,
        backend=alias,
        errors=_errors(job, failed=status == TaskResultStatus.FAILED),
        worker_ids=[_UNKNOWN] * (started - 1) + [job.processed_by or _UNKNOWN] * (started > 0),
    )
    if status == TaskResultStatus.SUCCESSFUL:
        object.__setattr__(result, "_return_value", job.returnvalue)
    return result


def _errors(job: JobCalls, *, failed: bool) -> list[Any]:
    """Return the errors of the attempts that failed, the newest last."""
    stacks = [stack for stack in job.stacktrace if isinstance(stack, str)]
    reason = job.failed_reason or ""
    errors = [_error(stack) for stack in stacks]
    if failed and not (stacks and reason in stacks[-1]):
        # No handler raised it: the job has stalled too often, or another program failed it.
        errors.append(TaskError(exception_class_path="bullrush.errors.JobFailedError", traceback=reason))
    return errors


def _error(stack: str) -> Any:
    """Return the error of a stack trace, which has the exception on its first line, as Node writes it."""
    title, found, rest = stack.partition(f"\n{_TRACEBACK}")
    name = title.partition("\n")[0].partition(":")[0]
    if not _PATH.fullmatch(name):
        known = getattr(builtins, name, None)
        is_error = isinstance(known, type) and issubclass(known, BaseException)
        name = f"builtins.{name if is_error else 'Exception'}"
    return TaskError(exception_class_path=name, traceback=_TRACEBACK + rest if found else stack)
