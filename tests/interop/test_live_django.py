"""Tasks of Django are plain BullMQ jobs: Node works those that Django adds, and Django runs the jobs that Node adds."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

django = pytest.importorskip("django")

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.python.django.shop.settings")
django.setup()

from django.test import override_settings  # noqa: E402

from bullrush.django.workers import make_workers  # noqa: E402
from tests.python.django.shop.tasks import broken, steps, welcome  # noqa: E402

PATH = "tests.python.django.shop.tasks"


@pytest.fixture(autouse=True)
def settings(redis_url: str, queue_name: str) -> Iterator[None]:
    backend: dict[str, Any] = {
        "BACKEND": "bullrush.django.BullrushBackend",
        "QUEUES": ["default", queue_name],
        "OPTIONS": {"url": redis_url},
    }
    with override_settings(TASKS={"default": backend}):
        yield


def test_node_works_a_task_of_django(queue_name, theirs):
    urgent = welcome.using(queue_name=queue_name, priority=100).enqueue(7, lang="de")
    later = welcome.using(queue_name=queue_name, priority=-100).enqueue(8)
    stored = theirs.job(urgent.id.partition(":")[2])
    assert (stored["name"], stored["data"]) == (f"{PATH}.welcome", {"user_id": 7, "lang": "de"})
    assert theirs.job(later.id.partition(":")[2])["opts"]["priority"] == 200
    theirs.work()
    for result in (urgent, later):
        result.refresh()
    assert urgent.return_value == {"user_id": 7, "lang": "de"} and later.return_value == {"user_id": 8}
    assert urgent.attempts == 1


def test_a_task_of_django_runs_a_job_that_node_added(queue_name, theirs):
    job = theirs.add(f"{PATH}.welcome", {"user_id": 7, "lang": "de"})
    failing = theirs.add(f"{PATH}.broken", {"text": "no"}, attempts=1)
    with next(worker for worker in make_workers() if worker.name == queue_name) as worker:
        worker.run(until="empty")
    assert theirs.job(job)["returnvalue"] == {"user": 7, "lang": "de"}
    assert theirs.job(failing)["failedReason"] == "no"
    result = welcome.get_result(f"{queue_name}:{job}")
    assert (result.return_value, result.kwargs) == ({"user": 7, "lang": "de"}, {"user_id": 7, "lang": "de"})
    assert broken.get_result(f"{queue_name}:{failing}").errors[0].exception_class is ValueError


def test_the_error_of_a_handler_in_node_is_the_error_of_the_result(queue_name, theirs):
    result = steps.using(queue_name=queue_name).enqueue([[["throw", "not today"]]])
    theirs.work()
    result.refresh()
    assert result.errors[0].exception_class is Exception and "not today" in result.errors[0].traceback
