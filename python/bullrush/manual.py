"""Working by hand: fetching, running and finishing single jobs under a worker's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from bullrush.encoding import JSON
from bullrush.errors import BullrushError, ClosedError, UnrecoverableError
from bullrush.failure import has_moved, is_rate_limit
from bullrush.inspection import JobT
from bullrush.job import JobCalls
from bullrush.operation import operation, reply
from bullrush.worker_events import WorkerEvents

if TYPE_CHECKING:
    from bullrush._core import WorkerTerms
    from bullrush.worker_options import BackoffStrategy, WorkerSettings

NO_FUNCTION: Final = "No process function is defined."


class ManualCalls(WorkerEvents[JobT]):
    """The calls of a worker that act on one job at a time."""

    _settings: WorkerSettings
    _function: Callable[..., Any] | None
    _paused: bool

    def _terms(self) -> WorkerTerms:
        return self._settings.terms()

    @property
    def backoff_strategy(self) -> BackoffStrategy | None:
        """The custom backoff strategy."""
        return self._settings.backoff_strategy

    @operation
    async def get_next_job(self, token: str, *, block: bool = True) -> JobT | None:
        """Take the next job, to be finished by hand: with its `Job.move_to_completed` or `Job.move_to_failed`.

        All limits hold as for a running worker. Nobody renews the job's lock: do so with `extend_job_locks` or `Job.extend_lock`, or be done
        within ``lock_duration``.

        Args:
            token: locks the job; any text of your own, best a new one for each job in hand.
            block: wait for a job, up to ``drain_delay``.

        Returns:
            None: there is no job to take now, or this worker is paused.

        Raises:
            ClosedError: the worker was closed.

        Redis:
            One script call, and with ``block`` another one after each wait.
        """
        if self._closing:
            raise ClosedError(f"{self!r} is closed")
        if self._paused:
            return None
        record = await reply(self.manual.get_next_job(token, block))
        return None if record is None else self._job_type(record, self)  # type: ignore[return-value]

    @operation
    async def extend_job_locks(self) -> list[str]:
        """Renew the locks of all jobs that `get_next_job` brought and that were not finished here.

        Returns:
            The ids of those that are no longer held: another worker may have them.
        """
        return await reply(self.manual.extend_job_locks())

    @operation
    async def move_stalled_jobs_to_wait(self) -> list[str]:
        """Put jobs back to wait whose worker has gone silent. Running workers do this by themselves, every ``stalled_interval``.

        Returns:
            The ids of those jobs; none if another worker looked within ``stalled_interval``.
        """
        stalled = await reply(self.manual.move_stalled_jobs_to_wait())
        for job_id in stalled:
            self.emit("stalled", job_id)
        return stalled

    def _end_waits(self) -> None:
        if self._manual is not None:
            self._manual.close()

    def _handler(self) -> Callable[..., Any]:
        """Return what runs one job.

        Raises:
            RuntimeError: the worker has no such function.
        """
        if self._function is None or self._settings.batch_handler is not None:
            raise RuntimeError(NO_FUNCTION)
        return self._function

    def _admit(self, job: JobCalls) -> None:
        """See to it that a job may run now.

        Raises:
            UnrecoverableError: it must fail instead.
        """
        most = self._settings.max_started_attempts
        if job.deferred_failure is not None:
            raise UnrecoverableError(job.deferred_failure)
        if most is not None and job.attempts_started > most:
            raise UnrecoverableError("job started more than allowable limit")
        job.read()
        self._announce("active", job)

    @operation
    async def _settle(
        self, job: JobT, token: str | None, value: JSON, error: BaseException | None, fetch_next: bool
    ) -> JobT | None:
        """Hand in what became of a job, as a running worker does."""
        if error is None:
            try:
                following = await JobCalls.move_to_completed.steps(job, value, token, fetch_next)
            except BullrushError as refused:
                self.emit("error", refused)
                error = refused
            else:
                self._announce("completed", job, value)
                return following
        if has_moved(error):
            return None
        if is_rate_limit(error):
            await reply(self.core.move_to_wait(job.id, job.lock_token(token)))
            return None
        try:
            following = await JobCalls.move_to_failed.steps(job, error, token, fetch_next)
        except BullrushError as refused:
            self.emit("error", refused)
            return None
        self._announce("failed", job, error)
        return following
