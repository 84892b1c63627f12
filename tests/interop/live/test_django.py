"""Tasks of Django are plain BullMQ jobs: Node works those that Django adds, and Django runs the jobs that Node adds."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

django = pytest.importorskip("django")

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.python.django.shop.settings")
django.setup()

from django.test import override_settings  # noqa: E402

from bullrush import Queue  # noqa: E402
from bullrush.django.workers import make_workers  # noqa: E402
from tests.python.django.shop.tasks import broken, steps, welcome  # noqa: E402

INTEROP = Path(__file__).parents[1]
ROOT = INTEROP.parents[1]
PATH = "tests.python.django.shop.tasks"


def backend_of(url: str, queue_name: str, prefix: str = "bull") -> dict[str, Any]:
    return {
        "BACKEND": "bullrush.django.BullrushBackend",
        "QUEUES": ["default", queue_name],
        "OPTIONS": {"url": url, "prefix": prefix},
    }


@pytest.fixture(autouse=True)
def settings(redis_url: str, queue_name: str) -> Iterator[None]:
    with override_settings(TASKS={"default": backend_of(redis_url, queue_name)}):
        yield


@pytest.fixture
def prefix_of_docs(queue_name: str) -> str:
    """Return a prefix of the test's own: the example has a queue name of its own."""
    return f"docs:{queue_name}"


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


@pytest.mark.node
def test_the_example_for_node_adds_the_job_that_django_adds(peer, redis_url, prefix_of_docs):
    section = (ROOT / "docs" / "frameworks.md").read_text().partition("### A task in Redis\n")[2].partition("\n### ")[0]
    (example,) = re.findall(r"^```js\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    program = f"""
    const bullmq = require("{peer.library}");
    const connection = {{ url: "{redis_url}" }};
    class Queue extends bullmq.Queue {{
      constructor(name) {{ super(name, {{ connection, prefix: "{prefix_of_docs}" }}); opened.push(this); }}
    }}
    const opened = [];
    (async () => {{ {example}; await Promise.all(opened.map(queue => queue.close())); }})();
    """
    subprocess.run(["node", "-e", program], cwd=INTEROP, check=True, timeout=100)
    with override_settings(TASKS={"default": backend_of(redis_url, "mails", prefix_of_docs)}):
        welcome.using(queue_name="mails", priority=10).enqueue(7, lang="de")
    with Queue("mails", url=redis_url, prefix=prefix_of_docs) as queue:
        by_node, by_django = (queue.get_job(id) for id in ("1", "2"))
    assert by_node.name.rpartition(".")[2] == by_django.name.rpartition(".")[2] == "welcome"
    assert (
        (by_node.data, by_node.priority) == (by_django.data, by_django.priority) == ({"user_id": 7, "lang": "de"}, 90)
    )
