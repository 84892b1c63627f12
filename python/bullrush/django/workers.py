"""The workers of all queues in the setting ``TASKS``."""

from __future__ import annotations

import os
import socket
from uuid import uuid4

from django.core.exceptions import ImproperlyConfigured

from bullrush.django.backend import BullrushBackend
from bullrush.django.framework import task_backends
from bullrush.django.running import TaskRunner
from bullrush.worker import Worker


def make_workers() -> list[Worker]:
    """Return a worker for each queue of each `BullrushBackend` in ``TASKS``.

    Raises:
        ImproperlyConfigured: there is no such backend, or one does not say which queues it has.
    """
    workers = []
    # One id per process: results have it in ``worker_ids``.
    name = f"{socket.gethostname()}-{os.getpid()}-{uuid4().hex[:6]}"
    for alias in task_backends:
        backend = task_backends[alias]
        if not isinstance(backend, BullrushBackend):
            continue
        if not backend.queues:
            raise ImproperlyConfigured(f"TASKS[{alias!r}] allows any queue: a worker must know them, so list QUEUES")
        of_queue = {option: value for option, value in backend.settings.queue.items() if option != "timeout"}
        for queue in sorted(backend.queues):
            runner = TaskRunner(backend)
            worker = Worker(queue, runner, **{"name": name, **of_queue, **backend.settings.worker})
            worker.on("completed", runner.completed)
            worker.on("failed", runner.failed)
            workers.append(worker)
    if not workers:
        raise ImproperlyConfigured("no backend in TASKS is bullrush.django.BullrushBackend")
    return workers
