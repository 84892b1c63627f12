"""The tasks of the project. Each notes what it did in `RUNS`."""

from typing import Any

from django.db import connections

from bullrush import current_job
from bullrush.errors import TransientError

try:
    from django.tasks import TaskContext, task
except ImportError:
    from django_tasks import TaskContext, task

RUNS: list[Any] = []


@task
def welcome(user_id: int, *, lang: str = "en") -> dict[str, Any]:
    RUNS.append((user_id, lang))
    return {"user": user_id, "lang": lang}


@task(queue_name="mails", priority=10)
async def deliver(to: str) -> str:
    job = current_job()
    assert job is not None
    return f"{to} by {job.name.rpartition('.')[2]}"


@task
def broken(text: str = "no") -> None:
    raise ValueError(text)


@task
def recovers() -> str:
    job = current_job()
    assert job is not None
    if job.attempts_made == 0:
        raise TransientError("not yet", delay=1)
    return "done"


@task(takes_context=True)
def inspects(context: TaskContext, *further: int, **named: str) -> list[Any]:
    result = context.task_result
    return [context.attempt, result.status, result.args, result.kwargs, len(result.worker_ids)]


@task
def asks_the_database() -> bool:
    here = connections["default"]
    with here.cursor() as cursor:
        cursor.execute("SELECT 1")
    RUNS.append(here)
    return here.connection is not None


@task
def steps(runs: list[Any]) -> None:
    """The processor of the interop tests in Node does what these say."""


@task
def returns_no_json() -> object:
    return object()


def no_task() -> None: ...


@task
def hidden() -> None: ...


other_name = hidden
del hidden
