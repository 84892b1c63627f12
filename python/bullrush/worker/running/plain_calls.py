"""The threads of a worker that has plain functions beside coroutine functions: its event loop hands jobs to them."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

from bullrush.worker.running.runner import nothing
from bullrush.worker.running.threads import ThreadRunner

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, JobRecord


class PlainCalls:
    """Runs plain functions for an event loop, with one thread per slot.

    Attributes:
        running: how many jobs its threads have. Only the loop changes it.
        on_done: called by a thread after each job.
        on_error: called by a thread with an exception that ends the run.
    """

    def __init__(
        self, core: CoreWorker, process: Callable[[list[JobRecord]], BaseException | None], slots: int, name: str
    ) -> None:
        self.running: int = 0
        self.on_done: Callable[[], None] = nothing
        self.on_error: Callable[[BaseException], None] = nothing
        self._process = process
        self._jobs: SimpleQueue[list[JobRecord] | None] = SimpleQueue()
        self._threads = ThreadRunner(_Handover(core, self._jobs), self._run, slots, 1, name)  # type: ignore[arg-type]
        self._threads.on_error = lambda error: self.on_error(error)

    def start(self) -> None:
        """Start the threads."""
        self._threads.start()

    def submit(self, records: list[JobRecord]) -> None:
        """Run a job on a thread. `on_done` is called when it has ended."""
        self.running += 1
        self._jobs.put(records)

    def resize(self, slots: int) -> None:
        """Start missing threads."""
        self._threads.start_threads(slots)

    def end(self) -> None:
        """Let the threads end after the jobs that they have."""
        self._jobs.put(None)

    def unfinished(self) -> list[JobRecord]:
        """Return the jobs of its threads; see `ThreadRunner.unfinished`."""
        return self._threads.unfinished()

    @property
    def slots(self) -> int:
        """How many threads there are."""
        return self._threads.slots

    def timed_out(self) -> list[JobRecord]:
        """Return the jobs that have timed out and whose functions still run; see `ThreadRunner.timed_out`."""
        return self._threads.timed_out()

    def join(self) -> None:
        """Wait until the threads have ended."""
        self._threads.join()

    def is_current(self) -> bool:
        """Tell whether the caller is one of these threads."""
        return self._threads.is_current()

    def _run(self, records: list[JobRecord]) -> BaseException | None:
        try:
            return self._process(records)
        finally:
            self.on_done()


class _Handover:
    """Gives threads the jobs that the loop took: what a `ThreadRunner` needs from the core."""

    def __init__(self, core: CoreWorker, jobs: SimpleQueue[list[JobRecord] | None]) -> None:
        self.give_back = core.give_back
        self._jobs = jobs

    def take(self, _max: int, _wait_ms: int) -> list[JobRecord] | None:
        """Return the next job, None after the last one."""
        records = self._jobs.get()
        if records is None:
            self._jobs.put(None)  # for the other threads
        return records
