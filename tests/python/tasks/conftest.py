"""A registry of tasks on the test's own queue."""

from collections.abc import Iterator

import pytest

from bullrush import Tasks


@pytest.fixture
def tasks(redis_url: str, queue_name: str) -> Iterator[Tasks]:
    registry = Tasks(queue_name, url=redis_url, default_job_options={"attempts": 3})
    yield registry
    registry.close()
