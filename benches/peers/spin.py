"""A handler of 20 ms of CPU, for ``bullrush worker``."""

from __future__ import annotations

import time

from bullrush import Job


def spin(_job: Job) -> None:
    """Compute until this thread has used 20 ms."""
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
