"""Manual work: fetching, running and finishing single jobs with a worker's options."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from bullrush._core import JobRecord, now_ms
from bullrush.base.operation import operation, reply, run_blocking, sleep
from bullrush.errors import (
    BullrushError,
    ConnectionLostError,
    OutcomeUnknownError,
    RateLimitError,
    TooLargeError,
    of_class,
)
from bullrush.job.calls.moves import AttemptResult, log_warnings
from bullrush.job.context import RUNNING
from bullrush.job.failure import Failure, has_moved, is_rate_limit, must_propagate
from bullrush.job.job import JobCalls, JobT
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.encoding import JSON
from bullrush.worker.base import WorkerBase
from bullrush.worker.handlers.dispatch import UNKNOWN_DELAY, PostponedError

if TYPE_CHECKING:
    from bullrush.job.owner import JobOwner

NO_FUNCTION: Final = (
    "No process function is defined. Pass the handler as the second argument: Worker(queue_name, handler)"
)
_ABORT_CHECK: Final = 0.02


class Abort(Protocol):
    """An event of `threading` or `asyncio`."""

    def is_set(self) -> bool:
        """Return whether it was set."""


class NotAdmittedError(Exception):
    """What a running worker does not let pass: a job that may not run, or a result that is too large.

    It is not tried again.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.failure: Failure = Failure(reason, f"UnrecoverableError: {reason}", retry=False)


class ManualCalls(WorkerBase[JobT]):
    """The calls of a worker that act on one job at a time."""

    _stalled_timer: threading.Thread | None = None

    #: Raised by a handler after `rate_limit`.
    RateLimitError = RateLimitError

    @property
    def minimum_block_timeout(self) -> float:
        """The shortest wait, in seconds, that the server supports; 0.002 while its version is not known."""
        version = self.redis_version or "0"
        return 0.001 if tuple(int(part) for part in version.split(".") if part.isdigit()) >= (7, 0, 8) else 0.002

    @operation
    async def wait_until_ready(self) -> None:
        """Connect now, check the server and the queue, and appear in `Queue.get_workers` from then on.

        `run` does this by itself.

        Raises:
            ConnectionLostError: Redis could not be reached in time.
            RedisVersionError: the server is too old.
            LegacyQueueError: the queue belongs to Bull, BullMQ's predecessor.
        """
        await reply(self.core.prepare() if self._current is not None else self.core.connect_worker())

    @operation
    async def rate_limit(self, expire_time: Duration) -> None:
        """Let this worker, and all to which a rate limit applies (see `Queue.rate_limit`), start no job for some ms.

        A handler that calls this raises `RateLimitError` afterwards, so that its job runs again later. In a worker of
        several queues it limits the queue of its job, unless ``share_rate_limit`` is set.

        Args:
            expire_time: how long, in ms.
        """
        time = checks.milliseconds("expire_time", expire_time)
        queue = self._queue_to_limit()
        await reply(queue.core.rate_limit(time))
        if (run := self._current) is not None:
            run.core.limit(time, queue.name)

    def _queue_to_limit(self) -> JobOwner:
        """Return the queue of the running job; the worker's own if there is none, or if all queues share its limit."""
        running = RUNNING.get()
        if running is None or self._sources is None or self._settings.share_rate_limit:
            return self
        return self._sources.of_running(running) or self

    @operation
    async def delay(self, milliseconds: Duration = 0, abort: Abort | None = None) -> None:
        """Wait.

        Args:
            milliseconds: for how long.
            abort: an event of `threading` or `asyncio` that ends the wait early when it is set.
        """
        left = checks.milliseconds("milliseconds", milliseconds) / 1000
        step = left if abort is None else _ABORT_CHECK
        while left > 0 and not (abort is not None and abort.is_set()):
            await sleep(min(left, step))
            left -= step

    @operation
    async def start_stalled_check_timer(self) -> None:
        """Look for stalled jobs now and every ``stalled_interval``, until the worker is closed.

        This is for programs that use `get_next_job`; `run` does this by itself.
        """
        if self._settings.skip_stalled_check or self._closing:
            return
        await self._recover_stalled()
        if self._stalled_timer is None:
            self._stalled_timer = threading.Thread(
                target=self._recover_stalled_forever, name="bullrush-stalled", daemon=True
            )
            self._stalled_timer.start()

    async def _recover_stalled(self) -> list[str]:
        stalled = await reply(self.core.move_stalled_jobs_to_wait())
        for job_id in stalled:
            self.emit("stalled", job_id)
        return stalled

    def _recover_stalled_forever(self) -> None:
        while not self._ended.wait(self._settings.stalled_interval / 1000):
            try:
                run_blocking(self._recover_stalled())
            except BullrushError as error:
                self.emit("error", error)

    @operation
    async def get_next_job(self, token: str, *, block: bool = True) -> JobT | None:
        """Take the next job. Finish it with `Job.move_to_completed` or `Job.move_to_failed`.

        Jobs of routes are not taken, whatever the ``profile``: make a worker of the route, by its name.

        All limits apply as for a running worker. The job's lock is not renewed: call `extend_job_locks` or
        `Job.extend_lock`, or finish the job within ``lock_duration``.

        Args:
            token: the lock token: any text, best a new one for each job.
            block: wait for a job, up to ``drain_delay``.

        Returns:
            The job; None if there is none to take now, or this worker is paused.

        Raises:
            ClosedError: the worker was closed.
            OutcomeUnknownError: the connection broke, and it could not be found out in time whether a job was taken. If
                one was, this worker puts it back as soon as it finds it, within a minute; if not, it runs again when
                its lock has expired.
            RuntimeError: the worker has ``routes_only``.

        Redis:
            One script call, and with ``block`` another one after each wait.
        """
        self._was_used = True
        if self._closing:
            raise self._closed_error()
        if self._settings.routes_only:
            raise RuntimeError("get_next_job() takes jobs of the queue itself, and this worker has routes_only=True")
        if self._paused:
            return None
        record = await reply(self.core.get_next_job(token, block))
        log_warnings(self)
        return None if record is None else self._job_type(record, self)

    @operation
    async def extend_job_locks(self) -> list[str]:
        """Renew the locks of all unfinished jobs from `get_next_job`.

        Returns:
            The ids of jobs whose lock is lost: another worker may have them.
        """
        return await reply(self.core.extend_job_locks())

    @operation
    async def move_stalled_jobs_to_wait(self) -> list[str]:
        """Move stalled jobs back to wait: jobs whose worker stopped renewing their lock.

        `run` does this every ``stalled_interval``.

        Returns:
            The ids of these jobs; none if another worker looked for them within ``stalled_interval``.
        """
        return await self._recover_stalled()

    def _handler(self, job: JobCalls) -> Callable[..., Any]:
        """Return the handler for a single job.

        Raises:
            RuntimeError: the worker has none.
        """
        function = self._handlers.of(job.name)
        if function is None or self._settings.batch_handler is not None:
            raise RuntimeError(NO_FUNCTION)
        return function

    def _prepare_to_run(self, job: JobCalls) -> None:
        """Emit ``active``, check that a job may run, and decode it.

        Raises:
            NotAdmittedError: the job must fail without running.
            MalformedJobError: its data or its options are not JSON.
        """
        self._was_used = True
        self._emit_for_job("active", job)
        record = job._record
        refused = self.core.not_admitted(record) if isinstance(record, JobRecord) else None
        if refused is not None:
            raise NotAdmittedError(*refused)
        job._read()

    @operation
    async def _finish_job(
        self, job: JobT, token: str | None, value: JSON, error: BaseException | None, fetch_next: bool
    ) -> AttemptResult[JobT]:
        """Complete or fail a job as a running worker does. An exception for the program is raised again."""
        if error is not None and must_propagate(error):
            await reply(self.core.move_to_wait(job.id, job._lock_token(token)))
            raise error
        if error is None:
            try:
                next_job = await JobCalls.move_to_completed.steps(job, value, token, fetch_next)
            except (OutcomeUnknownError, ConnectionLostError):
                raise  # a job that has succeeded does not fail since Redis is away
            except TooLargeError as refused:
                error = NotAdmittedError("TooLargeError", str(refused))
            except Exception as refused:
                self.emit("error", refused)
                error = refused
            else:
                self._emit_for_job("completed", job, value)
                return AttemptResult("completed", next_job=next_job)
        postponed_until = None
        if issubclass(type(error), PostponedError):
            postponed_until = now_ms() + UNKNOWN_DELAY
            await JobCalls.move_to_delayed.steps(job, postponed_until, token)
        if has_moved(error):
            return AttemptResult("moved", postponed_until)
        if is_rate_limit(error):
            await reply(self.core.move_to_wait(job.id, job._lock_token(token)))
            return AttemptResult("moved")
        try:
            if type(error) is NotAdmittedError:  # `isinstance` reads `__class__`, which an exception may override
                result = await job._fail(error.failure, token, fetch_next)
                error = of_class(error.kind, error.failure.reason)
            else:
                result = await JobCalls.move_to_failed.steps(job, error, token, fetch_next)
        except (OutcomeUnknownError, ConnectionLostError):
            raise
        except BullrushError as refused:
            self.emit("error", refused)
            return AttemptResult("lost")
        self._emit_for_job("failed", job, error)
        if result.next_run_at is not None:
            self._emit_for_job("retrying", job, error, result.next_run_at)
        return result
