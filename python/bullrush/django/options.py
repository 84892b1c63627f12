"""``OPTIONS`` of the setting ``TASKS``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from bullrush.django.framework import InvalidTaskBackend
from bullrush.errors import BullrushError, InvalidOptionError
from bullrush.extending import OptionCompiler, check_known
from bullrush.queue import Queue

_OF_QUEUE: Final = ("url", "prefix", "timeout", "telemetry")
_KNOWN: Final = frozenset({*_OF_QUEUE, "default_job_options", "worker_options"})
#: What a task decides by ``using()``.
_OF_TASKS: Final = ("priority", "delay")


@dataclass(frozen=True)
class Options:
    """The options of a backend.

    Attributes:
        queue: those of its queues: ``url``, ``prefix``, ``timeout``, ``telemetry``.
        job: the options of each of its jobs.
        worker: the options of its workers.
    """

    queue: Mapping[str, Any] = field(default_factory=dict)
    job: Mapping[str, Any] = field(default_factory=dict)
    worker: Mapping[str, Any] = field(default_factory=dict)

    def open(self, queue_name: str) -> Queue:
        """Return a handle of a queue. Threads share it, though Django makes a backend for each."""
        return _open(queue_name, tuple(self.queue.items()))


def read_options(alias: str, options: Mapping[str, Any]) -> Options:
    """Return the options of a backend.

    Raises:
        InvalidTaskBackend: an option does not exist or has an invalid value.
    """
    try:
        check_known(options, _KNOWN, f"OPTIONS of TASKS[{alias!r}]")
        job = dict(options.get("default_job_options") or {})
        for name in _OF_TASKS:
            if name in job:
                raise InvalidOptionError(f"{name} is not for default_job_options: Django's tasks have their own")
        OptionCompiler().compile(job)
        worker = dict(options.get("worker_options") or {})
        for name in worker.keys() & set(_OF_QUEUE[:2]):
            raise InvalidOptionError(f"{name} is not for worker_options: workers and tasks have the same, in OPTIONS")
        return Options(
            {name: options[name] for name in _OF_QUEUE if name in options},
            job,
            worker,
        )
    except BullrushError as error:
        raise InvalidTaskBackend(f"TASKS[{alias!r}]: {error}") from error


@lru_cache(maxsize=1024)
def _open(queue_name: str, options: tuple[tuple[str, Any], ...]) -> Queue:
    return Queue(queue_name, **dict(options))
