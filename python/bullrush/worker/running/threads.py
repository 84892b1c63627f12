"""Runs plain functions, on threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from bullrush.worker.running.runner import give_back, nothing

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, JobRecord

#: How long one wait of an idle thread lasts. The end of the run wakes it.
_WAIT_MS: Final = 5_000


class ThreadRunner:
    """Runs plain functions, with one thread per slot.

    The core decides which thread to wake: fast handlers share one thread.
    """

    def __init__(
        self,
        core: CoreWorker,
        process: Callable[[list[JobRecord]], BaseException | None],
        slots: int,
        batch_size: int,
        name: str,
    ) -> None:
        self.on_end: Callable[[], None] = nothing
        self.on_error: Callable[[BaseException], None] = nothing
        self._core = core
        self._process = process
        self._slots = slots
        self._batch_size = batch_size
        self._name = name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._alive = 0
        #: The jobs that each thread has.
        self._taken: dict[int, Sequence[JobRecord]] = {}

    def start(self) -> None:
        """Start all threads."""
        self.start_threads(self._slots)

    def resize(self, slots: int) -> None:
        """Start missing threads.

        Threads beyond ``slots`` stay idle: the core gives out no more jobs than slots.
        """
        self.start_threads(slots)
        self._core.set_concurrency(slots * self._batch_size)

    def start_threads(self, slots: int) -> None:
        """Start the threads that are missing for this many slots."""
        with self._lock:
            while len(self._threads) < slots:
                # Not daemons: the interpreter would stop daemon threads in the middle of a job.
                number = len(self._threads)
                thread = threading.Thread(
                    target=self._work, args=(number,), name=f"{self._name}-{number}", daemon=False
                )
                self._alive += 1
                try:
                    thread.start()
                except BaseException:  # the system has no more threads or memory
                    self._alive -= 1
                    raise
                self._threads.append(thread)

    def cancel(self, job_id: str, token: str) -> None:
        """Do nothing: a thread cannot be stopped. The handler sees ``job.cancelled``."""

    def stop_starting(self) -> None:
        """Do nothing: threads start at once."""

    def cancel_all(self) -> None:
        """Do nothing; see `cancel`."""

    def unfinished(self) -> list[JobRecord]:
        """Return the jobs that handlers have, without those that have an outcome."""
        return [record for records in list(self._taken.values()) for record in records if not record.settled]

    @property
    def slots(self) -> int:
        """How many threads there are."""
        return len(self._threads)

    def timed_out(self) -> list[JobRecord]:
        """Return the jobs that have timed out and whose functions still run, one for each thread."""
        late = [[one for one in records if one.overdue] for records in list(self._taken.values())]
        return [records[0] for records in late if records]

    def join(self) -> None:
        """Wait until the last handler has returned."""
        for thread in self._threads:
            thread.join()

    def is_current(self) -> bool:
        """Tell whether the caller is a handler."""
        return threading.current_thread() in self._threads

    def is_lost(self, *, at_exit: bool = False) -> bool:  # noqa: ARG002 - for loops
        """Return False: threads always continue."""
        return False

    def give_back(self) -> None:
        """Do nothing; see `is_lost`."""

    def _work(self, number: int) -> None:
        take, process, batch_size, taken = self._core.take, self._process, self._batch_size, self._taken
        records: list[JobRecord] | None = None
        try:
            while (records := take(batch_size, _WAIT_MS)) is not None:
                taken[number] = records
                if (end := process(records)) is not None:
                    self.on_error(end)
                else:
                    taken[number] = ()
        except BaseException as error:
            give_back(self._core, records or ())
            self.on_error(error)
        finally:
            with self._lock:
                self._alive -= 1
                last = self._alive == 0
            if last:
                self.on_end()
