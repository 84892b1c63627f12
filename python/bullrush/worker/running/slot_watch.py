"""Which functions run on although their jobs have timed out? A thread cannot be stopped, so each holds a slot."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from bullrush._core import CoreWorker, JobRecord

#: Seconds between two looks.
_PAUSE: Final = 1.0
#: Seconds for which a function may run on before the log says so: some end soon, since they look at `job.cancelled`.
_RUNS_ON: Final = 3.0

_log: Final = logging.getLogger("bullrush.worker")


class Threads(Protocol):
    """The threads on which plain functions run."""

    @property
    def slots(self) -> int:
        """How many threads there are."""

    def timed_out(self) -> list[JobRecord]:
        """Return the jobs that have timed out and whose functions still run, one for each thread."""


class SlotWatch:
    """Warns once for each job whose function holds a slot."""

    def __init__(self, core: CoreWorker, threads: Threads) -> None:
        self._core, self._threads = core, threads
        self._next = 0.0
        #: When each of them was seen first; None after its warning.
        self._seen: dict[tuple[str, str | None], float | None] = {}

    def look(self) -> None:
        """Look once a second. The thread that supervises the run calls it all the time."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _PAUSE
        held = self._threads.timed_out() if self._core.stats()["overdue"] else []
        self._seen = {(one.id, one.token): self._seen.get((one.id, one.token), now) for one in held}
        for one in held:
            since = self._seen[one.id, one.token]
            if since is not None and now - since >= _RUNS_ON:
                self._seen[one.id, one.token] = None
                self._warn(one, now - since, len(held))

    def _warn(self, job: JobRecord, seconds: float, held: int) -> None:
        _log.warning(
            "Job %s %r of queue %r timed out %.0f s ago, and its function still runs. Such functions hold %d of %d "
            "slots: a thread cannot be stopped; let the function look at job.cancelled, or give the worker "
            "isolation='process'",
            job.id,
            job.name,
            job.queue_name,
            seconds,
            held,
            self._threads.slots,
            extra={"job_id": job.id, "job_name": job.name, "queue": job.queue_name},
        )
