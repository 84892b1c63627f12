"""A job and the calls that change it or ask about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypedDict, TypeVar

from bullrush._core import now_ms
from bullrush.base.operation import Async, Blocking, operation, reply
from bullrush.errors import InvalidOptionError, JobLockMismatchError
from bullrush.job.deduplication import JobDeduplication
from bullrush.job.dependencies import JobDependencies
from bullrush.job.failure import decide
from bullrush.job.serialization import JobSerialization
from bullrush.job.waiting import JobResultWait
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.encoding import JSON, NULL, encode

if TYPE_CHECKING:
    from typing_extensions import Self

    from bullrush._core import JobRecord

#: The token that stands for "do not check the lock".
_UNCHECKED: Final = "0"
_DEFAULT_KEPT_LOGS: Final = 100
_FULL_PROGRESS: Final = 100


class ChildKey(TypedDict):
    """A job in another queue; ``queue`` is that queue's qualified name, such as ``bull:video``."""

    id: str
    queue: str


class JobCalls(JobDependencies, JobDeduplication, JobSerialization, JobResultWait):
    """The calls of a job, whichever way they are waited for."""

    __slots__ = ()

    @operation
    async def update_data(self, data: JSON) -> None:
        """Replace the job's data.

        Raises:
            DataError: a part of it is not JSON.
            JobNotFoundError: the job is gone.
        """
        encoded = encode(data, "data")
        await reply(self._source.core.update_data(self.id, encoded))
        self._data = data
        self._change(data=encoded)

    @operation
    async def update_progress(self, progress: JSON, *, strict: bool = True) -> None:
        """Report progress, which others see at once.

        Args:
            progress: a number from 0 to 100, or any other JSON value.
            strict: False lets numbers beyond 0 to 100 pass.

        Raises:
            InvalidOptionError: a number out of range.
            JobNotFoundError: the job is gone.
        """
        encoded = encode_progress(progress, strict=strict)
        await reply(self._source.core.update_progress(self.id, encoded))
        self._change(progress=encoded)
        if self._source.progressed is not None:
            self._source.progressed(self, progress)

    @operation
    async def log(self, row: str) -> int:
        """Append a row to the job's log and return how many rows it has.

        The log keeps the last ``keep_logs`` rows of the job's options: 100 if that was not given, all of them if it is 0.
        """
        kept = self.opts.get("keep_logs", _DEFAULT_KEPT_LOGS)
        return await reply(self._source.core.add_log(self.id, str(row), kept or None))

    @operation
    async def clear_logs(self, keep_logs: int | None = None) -> None:
        """Remove the job's log, all but the last ``keep_logs`` rows."""
        await reply(self._source.core.clear_logs(self.id, keep_logs))

    @operation
    async def change_delay(self, delay: Duration) -> None:
        """Make a delayed job due ``delay`` ms from now.

        Raises:
            JobNotFoundError: the job is gone.
            JobStateError: it is not delayed.
        """
        until = checks.milliseconds("delay", delay)
        await reply(self._source.core.change_delay(self.id, until))
        self._change(delay=b"%d" % until)

    @operation
    async def change_priority(self, *, priority: int = 0, lifo: bool = False) -> None:
        """Change the job's priority; 0 takes it away.

        Args:
            priority: 1 is the most urgent.
            lifo: put it before the jobs of the same priority.

        Raises:
            JobNotFoundError: the job is gone.
        """
        number = checks.priority("priority", priority)
        await reply(self._source.core.change_priority(self.id, number, checks.boolean("lifo", lifo)))
        self._change(priority=b"%d" % number)

    @operation
    async def promote(self) -> None:
        """Make a delayed job run now.

        Raises:
            JobStateError: it is not delayed.
        """
        await reply(self._source.core.promote(self.id))
        self._change(delay=b"0")

    @operation
    async def remove(self, *, remove_children: bool = True) -> None:
        """Remove the job, and by default its children.

        Raises:
            JobLockMismatchError: a worker runs it.
            SchedulerJobError: a job scheduler made it.
        """
        if not await reply(self._source.core.remove(self.id, remove_children)):
            raise JobLockMismatchError(f"Job {self.id} could not be removed because it is locked by another worker")
        self._source.emit("removed", self)

    @operation
    async def retry(
        self,
        state: Literal["failed", "completed"] = "failed",
        *,
        reset_attempts_made: bool = False,
        reset_attempts_started: bool = False,
    ) -> None:
        """Run a finished job once more. A parent that recorded its outcome waits for it again.

        Args:
            state: where it is.
            reset_attempts_made: count the attempts that ended from 0 again, which makes it retry by itself again.
            reset_attempts_started: count the attempts that began from 0 again.

        Raises:
            JobNotFoundError: the job is gone.
            JobStateError: it is not in ``state``.
        """
        if state not in {"failed", "completed"}:
            raise InvalidOptionError(f"state must be 'failed' or 'completed', not {state!r}")
        lifo = bool(self.opts.get("lifo"))
        await reply(self._source.core.retry(self.id, state, lifo, reset_attempts_made, reset_attempts_started))
        self._change(finishedOn=None, processedOn=None, failedReason=None, returnvalue=None)
        if reset_attempts_made:
            self._change(atm=None, attemptsMade=None)
        if reset_attempts_started:
            self._change(ats=None)

    @operation
    async def move_to_delayed(self, timestamp: int, token: str | None = None) -> None:
        """Delay the job that is running; its handler then raises `DelayedError`.

        Args:
            timestamp: when it may run again, in ms since 1970.
            token: the lock token; the job's own by default.

        Raises:
            JobLockMissingError, JobLockMismatchError: the job is no longer held.
        """
        delay = max(0, checks.whole("timestamp", timestamp) - now_ms())
        await reply(self._source.core.move_to_delayed(self.id, await self._token_to_leave(token), delay))
        self._change(delay=b"%d" % delay)

    @operation
    async def move_to_wait(self, token: str | None = None) -> int:
        """Put the running job back, to run next; its handler then raises `WaitingError`.

        Returns:
            ms for which the queue is rate limited, 0 if it is not.

        Raises:
            JobLockMissingError, JobLockMismatchError: the job is no longer held.
        """
        return await reply(self._source.core.move_to_wait(self.id, await self._token_to_leave(token)))

    @operation
    async def extend_lock(self, token: str | None, duration: Duration) -> bool:
        """Set the lock's time to live. Workers do this by themselves.

        Returns:
            False if the lock is no longer held.
        """
        lasting = checks.positive_milliseconds("duration", duration)
        return await reply(self._source.core.extend_lock(self.id, self.lock_token(token), lasting))

    @operation
    async def move_to_completed(
        self, returnvalue: JSON = None, token: str | None = None, fetch_next: bool = True
    ) -> Self | None:
        """Complete the job, which `Worker.get_next_job` brought, and by default take the next one.

        Args:
            returnvalue: the job's result.
            token: the lock token; the job's own by default.
            fetch_next: take the next job in the same round trip, under the same token.

        Returns:
            The next job, None if there is none now.

        Raises:
            DataError: a part of the result is not JSON.
            JobLockMissingError, JobLockMismatchError, JobStateError, JobNotFoundError: the job is no longer held.
            PendingDependenciesError, FailedChildrenError: its children keep it from completing.
        """
        value = NULL if returnvalue is None else encode(returnvalue, "returnvalue")
        following = await reply(
            self._source.manual.move_to_completed(
                self.id, await self._token_to_leave(token), self.record.opts, value, fetch_next
            )
        )
        self.completed(value, now_ms())
        return self._following(following)

    @operation
    async def move_to_failed(
        self, error: BaseException, token: str | None = None, fetch_next: bool = False
    ) -> Self | None:
        """End a failed attempt as a worker does: retry the job now or later, or fail it, as its options say.

        Args:
            error: why; an `UnrecoverableError` is not retried.
            token: the lock token; the job's own by default.
            fetch_next: if the job fails for good, take the next one in the same round trip.

        Returns:
            The next job, None if there is none now or none was asked for.

        Raises:
            JobLockMissingError, JobLockMismatchError, JobStateError, JobNotFoundError: the job is no longer held.
        """
        source, opts, made = self._source, self.record.opts, self.attempts_made
        failure = await decide(self, error, source.manual.needs_strategy(opts, made), source.backoff_strategy)
        retry_in, stacktrace, following = await reply(
            source.manual.move_to_failed(
                self.id, await self._token_to_leave(token), opts, made, self._field("stacktrace"), *failure, fetch_next
            )
        )
        if retry_in is None:
            self.failed(failure.reason, stacktrace.encode(), now_ms())
        else:
            self.retried(failure.reason, stacktrace.encode(), retry_in)
        return self._following(following)

    @operation
    async def move_to_waiting_children(self, token: str | None = None, *, child: ChildKey | None = None) -> bool:
        """Let the running job wait for its children; its handler then raises `WaitingChildrenError`.

        Args:
            token: the lock token; the job's own by default.
            child: wait only if this child is unfinished; by default if any is.

        Returns:
            False: there is nothing to wait for, and the job goes on.

        Raises:
            FailedChildrenError: a child failed that fails its parent.
            JobLockMissingError, JobLockMismatchError: the job is no longer held.
        """
        child_key = None if child is None else f"{child['queue']}:{child['id']}"
        return await reply(
            self._source.core.move_to_waiting_children(self.id, await self._token_to_leave(token), child_key)
        )

    async def _token_to_leave(self, token: str | None) -> str:
        """Return the token to show when the job leaves ``active``.

        The start of a job that was claimed ahead goes on record first: afterwards the job is no longer this worker's.
        """
        stamped = self._source.put_start_on_record(self.record)
        if stamped is not None:
            await reply(stamped)
        return self.lock_token(token)

    def lock_token(self, token: str | None) -> str:
        """Return the token to show: the given one, or the job's own; without either the lock is not checked."""
        return token or self.token or _UNCHECKED

    def _following(self, record: JobRecord | None) -> Self | None:
        return None if record is None else type(self)(record, self._source)

    def discard(self) -> None:
        """Do not retry the job if its running attempt fails."""
        self.discarded = True

    @operation
    async def get_state(self) -> str:
        """Return completed, failed, delayed, prioritized, active, waiting, waiting-children or unknown."""
        return await self._state()

    @operation
    async def is_completed(self) -> bool:
        """Tell whether the job is completed."""
        return await self._state() == "completed"

    @operation
    async def is_failed(self) -> bool:
        """Tell whether the job has failed for good."""
        return await self._state() == "failed"

    @operation
    async def is_delayed(self) -> bool:
        """Tell whether the job is delayed."""
        return await self._state() == "delayed"

    @operation
    async def is_active(self) -> bool:
        """Tell whether a worker has the job."""
        return await self._state() == "active"

    @operation
    async def is_waiting(self) -> bool:
        """Tell whether the job waits, in a running or a paused queue."""
        return await self._state() == "waiting"

    @operation
    async def is_waiting_children(self) -> bool:
        """Tell whether the job waits for its children."""
        return await self._state() == "waiting-children"

    async def _state(self) -> str:
        return await reply(self._source.core.get_state(self.id))


class Job(Blocking, JobCalls):
    """A job. Its calls block; `bullrush.aio.Job` has the same ones to be awaited."""

    __slots__ = ()


class AsyncJob(Async, JobCalls):
    """A job, for asyncio: `bullrush.Job` with its calls awaited."""

    __slots__ = ()


def encode_progress(progress: JSON, *, strict: bool = True) -> bytes:
    """Return a progress as JSON.

    Raises:
        InvalidOptionError: a number below 0 or above 100, and ``strict``.
    """
    encoded = encode(progress, "progress")
    if strict and isinstance(progress, int | float) and not 0 <= progress <= _FULL_PROGRESS:
        raise InvalidOptionError(
            f"progress must be between 0 and {_FULL_PROGRESS}, not {progress}; strict=False lets it pass"
        )
    return encoded


JobT = TypeVar("JobT", bound=JobCalls)
