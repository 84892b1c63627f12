"""Runs several workers in this process, each on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from bullrush.cli.terminal.ending import code_of
from bullrush.cli.worker.ending import ENDED, FAILED
from bullrush.cli.worker.targets import AnyWorker
from bullrush.errors import BullrushError, ClosedError
from bullrush.extending import Blocking, has_left_jobs

_log: Final = logging.getLogger("bullrush")


class Fleet:
    """Workers that start and end together."""

    def __init__(
        self,
        workers: Sequence[AnyWorker],
        on_end: Callable[[], None],
        *,
        burst: bool = False,
        max_jobs: int | None = None,
    ) -> None:
        """Make a fleet.

        Args:
            workers: the workers.
            on_end: called on the thread of each worker that has ended.
            burst: end each worker when it can take no job now; delayed jobs stay.
            max_jobs: end each worker after so many jobs.
        """
        self.workers: list[AnyWorker] = list(workers)
        #: The exit code, other than `ENDED` once a worker has stopped with an error.
        self.code: int = ENDED
        self._on_end = on_end
        self._until: Final = "empty" if burst else None
        self._max_jobs = max_jobs
        self._closing = False
        self._ended = 0
        self._lock = threading.Lock()
        # Daemons, since a handler that never returns must not keep the process.
        self._threads = [
            threading.Thread(target=self._run, args=(worker,), name=f"bullrush-run-{worker.name}", daemon=True)
            for worker in self.workers
        ]

    def start(self) -> None:
        """Start all workers."""
        for thread in self._threads:
            thread.start()

    @property
    def ended(self) -> bool:
        """True once all workers have ended."""
        return self._ended == len(self.workers)

    @property
    def is_worn(self) -> bool:
        """True once a worker has run as many jobs as it may: the process is to be replaced."""
        return self._max_jobs is not None and self._ended > 0

    @property
    def has_left_jobs(self) -> bool:
        """True if a worker has ended before its jobs."""
        return any(map(has_left_jobs, self.workers))

    def close(self, timeout: float | None = None, *, force: bool = False) -> None:
        """Let all workers end; does not wait.

        Args:
            timeout: seconds that running handlers may take; None is no limit.
            force: do not wait for them at all.
        """
        self._closing = True
        timeout_ms = None if timeout is None else round(timeout * 1000)
        for worker in self.workers:
            threading.Thread(target=_close, args=(worker, force, timeout_ms), daemon=True).start()

    def _run(self, worker: Any) -> None:
        try:
            begun = worker.run(until=self._until, max_jobs=self._max_jobs, signals=False)
            if not isinstance(worker, Blocking):
                asyncio.run(begun)
        except ClosedError:
            if not self._closing:
                self._fail(FAILED)
        except BullrushError as error:  # such as a wrong password: what to do stands in its text
            self._fail(code_of(error))
            _log.error("%r stopped: %s", worker, error)
        except BaseException:
            self._fail(FAILED)
            _log.exception("%r stopped with an error", worker)
        finally:
            with self._lock:
                self._ended += 1
            self._on_end()

    def _fail(self, code: int) -> None:
        with self._lock:
            self.code = max(self.code, code)


def _close(worker: Any, force: bool, timeout: int | None) -> None:
    begun = worker.close(force, timeout=timeout)
    if not isinstance(worker, Blocking):
        asyncio.run(begun)
