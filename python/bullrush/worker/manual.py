"""Working by hand: fetching, running and finishing single jobs under a worker's options."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from bullrush.base.operation import operation, reply, run_blocking, sleep
from bullrush.errors import BullrushError, RateLimitError, UnrecoverableError
from bullrush.job.failure import has_moved, is_rate_limit, must_propagate
from bullrush.job.job import JobCalls, JobT
from bullrush.url import masked
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.encoding import JSON
from bullrush.worker.events import WorkerEvents

if TYPE_CHECKING:
    from bullrush._core import WorkerTerms
    from bullrush.job.fields import BackoffStrategy
    from bullrush.worker.options import WorkerSettings

NO_FUNCTION: Final = "No process function is defined."
_ABORT_CHECK: Final = 0.02


class Abort(Protocol):
    """An event of `threading` or `asyncio`."""

    def is_set(self) -> bool:
        """Tell whether it was set."""


class ManualCalls(WorkerEvents[JobT]):
    """The calls of a worker that act on one job at a time."""

    _settings: WorkerSettings
    _function: Callable[..., Any] | None
    _paused: bool

    def __init__(self, queue_name: str, url: str | None, prefix: str, options: Mapping[str, object]) -> None:
        super().__init__(queue_name, url, prefix, options)
        self._identity = (0, "")
        self._ended = threading.Event()
        self._stalled_timer: threading.Thread | None = None

    def _terms(self) -> WorkerTerms:
        return self._settings.terms()

    @property
    def backoff_strategy(self) -> BackoffStrategy | None:
        """The custom backoff strategy."""
        return self._settings.backoff_strategy

    #: To be raised by a handler that has limited its queue.
    RateLimitError = RateLimitError

    @property
    def id(self) -> str:
        """The worker's own id, which begins the lock tokens of its jobs. In a forked process it is another one."""
        pid, worker_id = self._identity
        if pid != os.getpid():
            worker_id = str(uuid.uuid4())
            self._identity = os.getpid(), worker_id
        return worker_id

    @property
    def worker_name(self) -> str:
        """Its ``name`` option; by default one made of the host, the process and its id, which only logs show."""
        return self._settings.name or f"{socket.gethostname()}-{os.getpid()}-{self.id[:6]}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.worker_name} of {self._name!r} at {masked(self._url)}>"

    @property
    def minimum_block_timeout(self) -> float:
        """The shortest wait, in seconds, that the server understands; 0.002 as long as its version is not known."""
        version = self.redis_version or "0"
        return 0.001 if tuple(int(part) for part in version.split(".") if part.isdigit()) >= (7, 0, 8) else 0.002

    @operation
    async def wait_until_ready(self) -> None:
        """Connect now, check the server and the queue, and be found by `Queue.get_workers` from then on. `run` does so by itself.

        Raises:
            ConnectionLostError: Redis could not be reached in time.
            RedisVersionError: the server is too old.
            LegacyQueueError: the queue belongs to Bull, BullMQ's predecessor.
        """
        await reply(self.core.prepare() if self.is_running() else self.manual.appear())

    def is_running(self) -> bool:
        """Tell whether the worker takes jobs by itself."""
        return False

    @operation
    async def rate_limit(self, expire_time: Duration) -> None:
        """Stop this worker and all that have a limit for ``expire_time`` ms; no further handler starts here."""
        time = checks.milliseconds("expire_time", expire_time)
        await reply(self.core.rate_limit(time))
        self._hold(time)

    def _hold(self, time: int) -> None:
        """Let no handler start for so many ms."""

    @operation
    async def delay(self, milliseconds: Duration = 0, abort: Abort | None = None) -> None:
        """Wait.

        Args:
            milliseconds: how long.
            abort: an event that ends the wait when it is set.
        """
        left = checks.milliseconds("milliseconds", milliseconds) / 1000
        step = left if abort is None else _ABORT_CHECK
        while left > 0 and not (abort is not None and abort.is_set()):
            await sleep(min(left, step))
            left -= step

    @operation
    async def start_stalled_check_timer(self) -> None:
        """Look for jobs of silent workers now and every ``stalled_interval``, until the worker is closed.

        For those who fetch by hand: a worker that runs does so by itself.
        """
        if self._settings.skip_stalled_check or self._closing:
            return
        await self._look_for_stalled()
        if self._stalled_timer is None:
            self._stalled_timer = threading.Thread(target=self._keep_looking, name="bullrush-stalled", daemon=True)
            self._stalled_timer.start()

    async def _look_for_stalled(self) -> list[str]:
        stalled = await reply(self.manual.move_stalled_jobs_to_wait())
        for job_id in stalled:
            self.emit("stalled", job_id)
        return stalled

    def _keep_looking(self) -> None:
        while not self._ended.wait(self._settings.stalled_interval / 1000):
            try:
                run_blocking(self._look_for_stalled())
            except BullrushError as error:
                self.emit("error", error)

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
            raise self._closed_error()
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
        return await self._look_for_stalled()

    def _end_waits(self) -> None:
        self._ended.set()
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
        self._announce("active", job)
        most = self._settings.max_started_attempts
        if job.deferred_failure is not None:
            raise UnrecoverableError(job.deferred_failure)
        if job.record.get("name") is None:
            raise UnrecoverableError(f"Missing key for job {job.id}. The job was deleted or its hash is malformed")
        if most and job.attempts_started > most:
            raise UnrecoverableError("job started more than allowable limit")
        job.read()

    @operation
    async def _settle(
        self, job: JobT, token: str | None, value: JSON, error: BaseException | None, fetch_next: bool
    ) -> JobT | None:
        """Hand in what became of a job, as a running worker does. What is meant for the program is raised on."""
        if error is not None and must_propagate(error):
            await reply(self.core.move_to_wait(job.id, job.lock_token(token)))
            raise error
        if error is None:
            try:
                following = await JobCalls.move_to_completed.steps(job, value, token, fetch_next)
            except Exception as refused:
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
