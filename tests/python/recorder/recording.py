"""A recorder that runs beside the test, and the history that it writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from bullrush.recorder import History, Recorder

#: Records while the block runs, the test's queue if no others are named, and returns the history.
Recording: TypeAlias = Callable[..., AbstractContextManager[History]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a recorder of the test writes."""
    return tmp_path / "history.db"


@pytest.fixture
def recording(file: Path, redis_url: str, queue_name: str) -> Recording:
    @contextmanager
    def record(**options: Any) -> Iterator[History]:
        given = {"url": redis_url, "queues": [queue_name], **options}
        with Recorder(file, **given) as recorder:
            running = threading.Thread(target=recorder.run)
            running.start()
            try:
                with History(file) as history:
                    yield history
            finally:
                recorder.stop()
                running.join()

    return record
