"""Ends a worker whose handlers go on for too long after its time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from bullrush.extending import checks
from bullrush.worker import Worker

#: ms; the default of the option `lock_duration`.
_LOCK: Final = 30_000

_log: Final = logging.getLogger("bullrush")


@contextmanager
def ends_in_time(worker: Worker, stop: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[None]:
    """Close a worker by force one lock duration after ``max_seconds``, so that its `run` returns.

    A thread cannot be stopped: the handler goes on, and its result does not count. Nobody renews the lock of its job,
    so that the job returns to the queue.

    Args:
        worker: the worker.
        stop: the arguments of its `run`.
        options: its options.
    """
    limit = stop.get("max_seconds")
    if limit is None:
        yield
        return
    lock = checks.milliseconds("lock_duration", options.get("lock_duration", _LOCK)) / 1000
    timer = threading.Timer(min(limit + lock, threading.TIMEOUT_MAX), _end, [worker, lock])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(worker: Worker, lock: float) -> None:
    _log.warning("%r ends, although handlers still run %g s after max_seconds", worker, lock)
    worker.close(timeout=0)
