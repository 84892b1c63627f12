"""A Django project whose tasks are jobs on the test's own server."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

django = pytest.importorskip("django")

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.python.django.shop.settings")
django.setup()

from django.test import override_settings  # noqa: E402

from bullrush import Queue  # noqa: E402
from tests.python.django.shop import tasks as shop_tasks  # noqa: E402


@pytest.fixture
def prefix(queue_name: str) -> str:
    """Return a prefix of the test's own: queues have the names that the tasks have."""
    return f"shop:{queue_name}"


@pytest.fixture
def configure(redis_url: str, prefix: str) -> Iterator[Callable[..., None]]:
    """Return a function that sets OPTIONS of the backend."""
    changed = []

    def change(**options: Any) -> None:
        backend = {
            "BACKEND": "bullrush.django.BullrushBackend",
            "QUEUES": ["default", "mails"],
            "OPTIONS": {"url": redis_url, "prefix": prefix, **options},
        }
        changed.append(override_settings(TASKS={"default": backend}))
        changed[-1].enable()

    yield change
    while changed:
        changed.pop().disable()


@pytest.fixture
def shop(configure: Callable[..., None]) -> Any:
    """Return the module with the tasks; their backend uses the test's server."""
    configure()
    shop_tasks.RUNS.clear()
    return shop_tasks


@pytest.fixture
def work() -> Callable[..., None]:
    """Return a function that runs what is queued, as a worker process would."""

    def run(queue: str = "default") -> None:
        from bullrush.django.workers import make_workers

        with next(worker for worker in make_workers() if worker.name == queue) as worker:
            worker.run(until="drained")

    return run


@pytest.fixture
def queue(shop: Any, redis_url: str, prefix: str) -> Iterator[Queue]:
    with Queue("default", url=redis_url, prefix=prefix) as queue:
        yield queue
