"""Workers of ours in this process, with the scripted handler by default, on a queue that Node uses, too."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bullrush import Worker
from tests.interop.sides.scripted import scripted


@contextmanager
def our_worker(queue: str, url: str, handler: Any = None, **options: Any) -> Iterator[Worker]:
    """Run a worker of ours in the background, with the scripted handler by default."""
    worker = Worker(queue, handler or scripted, url=url, autorun=True, **options)
    try:
        yield worker
    finally:
        worker.close(timeout=5000)


def work_off(queue: str, url: str, handler: Any = None, max_jobs: int | None = None, **options: Any) -> Any:
    """Run all jobs that can be fetched now, with the scripted handler by default."""
    if handler is None and "batch_handler" not in options:
        handler = scripted
    with Worker(queue, handler, url=url, **options) as worker:
        return worker.run(until="empty", max_jobs=max_jobs)
