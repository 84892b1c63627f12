"""The calls on a running job: its lock, and the moves out of ``active``."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, NamedTuple, TypeAlias, TypedDict, TypeVar

from bullrush._core import now_ms
from bullrush.base.operation import operation, reply
from bullrush.job.failure import Failure, decide_retry
from bullrush.job.fields import JobFields
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.encoding import JSON, NULL, encode

if TYPE_CHECKING:
    from typing_extensions import Self

    from bullrush._core import JobRecord
    from bullrush.job.owner import JobOwner

#: The token for which scripts do not check the lock.
_UNCHECKED: Final = "0"

_log: Final = logging.getLogger("bullrush.worker")


NextT = TypeVar("NextT")

#: How an attempt ended.
Outcome: TypeAlias = Literal["completed", "failed", "retried", "moved", "lost"]


@dataclass(frozen=True, slots=True)
class AttemptResult(Generic[NextT]):
    """How an attempt of a job ended that was processed by hand.

    Attributes:
        outcome: ``completed``; ``failed``: for good; ``retried``: the job runs again; ``moved``: the handler has moved
            the job itself, or its queue is rate limited, and no attempt was counted; ``lost``: Redis did not take the
            outcome, since another worker may have the job.
        next_run_at: when the job is due again, in ms since 1970. None if it is not known, or there is no next attempt.
        next_job: the job that was taken in the same call; None without one.
    """

    outcome: Outcome
    next_run_at: int | None = None
    next_job: NextT | None = None


class Attempt(NamedTuple):
    """An attempt of a job that ends by hand, in the form that the core takes.

    Attributes:
        id: the id of the job.
        token: its lock token.
        opts: its options as they are stored.
        made: how many attempts have ended before.
        stacktrace: its stack traces as they are stored.
    """

    id: str
    token: str
    opts: bytes
    made: int = 0
    stacktrace: bytes | None = None


def log_warnings(source: JobOwner) -> None:
    """Log what the core says about calls that take jobs."""
    for text in source.core.take_warnings():
        _log.warning("%s", text, extra={"queue": source.name})


class ChildKey(TypedDict):
    """A child job: its ``id``, and its ``queue`` with the prefix, such as ``bull:video``."""

    id: str
    queue: str


async def write_start(job: JobFields) -> None:
    """Write the start of a job that was claimed ahead to Redis now; awaited inside an operation."""
    worker = job._source._job_worker
    pending = None if worker is None else worker._record_start(job._record)
    if pending is not None:
        await reply(pending)


class JobMoves(JobFields):
    """The calls that move a running job, or renew its lock."""

    __slots__ = ()

    @operation
    async def move_to_delayed(self, timestamp: int, token: str | None = None) -> None:
        """Move the running job to delayed. Its handler must then raise `DelayedError`.

        Args:
            timestamp: when the job may run again, in ms since 1970.
            token: the lock token; the job's own by default.

        Raises:
            JobLockMissingError, JobLockMismatchError: the job is no longer held.
        """
        delay = max(0, checks.whole("timestamp", timestamp) - now_ms())
        await reply(self._source.core.move_to_delayed(self.id, await self._token_for_move(token), delay))
        self._change(delay=b"%d" % delay)

    @operation
    async def move_to_wait(self, token: str | None = None) -> int:
        """Move the running job back to wait, to run next. Its handler must then raise `WaitingError`.

        Args:
            token: the lock token; the job's own by default.

        Returns:
            For how many ms the queue is rate limited, 0 if it is not.

        Raises:
            JobLockMissingError, JobLockMismatchError: the job is no longer held.
        """
        return await reply(self._source.core.move_to_wait(self.id, await self._token_for_move(token)))

    @operation
    async def extend_lock(self, token: str | None, duration: Duration) -> bool:
        """Renew the job's lock. A running worker does this by itself.

        Args:
            token: the lock token; None is the job's own.
            duration: ms after which the lock expires.

        Returns:
            False if this token no longer holds the lock.
        """
        lasting = checks.positive_milliseconds("duration", duration)
        return await reply(self._source.core.extend_lock(self.id, self._lock_token(token), lasting))

    @operation
    async def move_to_completed(
        self, returnvalue: JSON = None, token: str | None = None, fetch_next: bool = True
    ) -> Self | None:
        """Complete a job from `Worker.get_next_job`, and by default take the next job.

        Args:
            returnvalue: the job's result, any JSON value.
            token: the lock token; the job's own by default.
            fetch_next: take the next job in the same round trip, under the same token.

        Returns:
            The next job, None if there is none now.

        Raises:
            DataError: a part of the result is not JSON.
            JobLockMissingError, JobLockMismatchError, JobStateError, JobNotFoundError: the job is no longer held.
            PendingDependenciesError: the job has unfinished children.
            FailedChildrenError: a child of the job failed.
            TooLargeError: the result is longer than the worker's ``payload_limit``; nothing was written.
        """
        value = NULL if returnvalue is None else encode(returnvalue, "returnvalue")
        attempt = Attempt(self.id, await self._token_for_move(token), self._record.opts)
        next_record = await reply(self._source.core.move_to_completed(attempt, value, fetch_next))
        self._set_completed(value, now_ms())
        return self._next_job(next_record)

    @operation
    async def move_to_failed(
        self, error: BaseException, token: str | None = None, fetch_next: bool = False
    ) -> AttemptResult[Self]:
        """End a failed attempt as a worker does: the job is retried or fails for good, as its options say.

        A reason or a stack trace that is longer than the worker's ``max_error_size`` is cut.

        Args:
            error: the error; after an `UnrecoverableError` the job is not retried.
            token: the lock token; the job's own by default.
            fetch_next: if the job fails for good, take the next one in the same round trip.

        Returns:
            Whether the job is ``retried``, and when, or has ``failed``; and the next job, None if there is none now or
            ``fetch_next`` is not set.

        Raises:
            JobLockMissingError, JobLockMismatchError, JobStateError, JobNotFoundError: the job is no longer held.
        """
        core, worker, opts, made = self._source.core, self._source._job_worker, self._record.opts, self.attempts_made
        strategy = None if worker is None else worker._backoff_strategy
        classifiers = {} if worker is None else worker._classifiers(self.name)
        failure = await decide_retry(self, error, core.needs_strategy(opts, made), strategy, classifiers)
        return await self._fail(failure, token, fetch_next)

    async def _fail(self, failure: Failure, token: str | None, fetch_next: bool) -> AttemptResult[Self]:
        """End a failed attempt, whose error was described; awaited inside an operation."""
        core, opts, made = self._source.core, self._record.opts, self.attempts_made
        attempt = Attempt(self.id, await self._token_for_move(token), opts, made, self._field("stacktrace"))
        retry, reason, stacktrace, next_record = await reply(core.move_to_failed(attempt, failure, fetch_next))
        if retry is None:
            self._set_failed(reason, stacktrace.encode(), now_ms())
            return AttemptResult("failed", next_job=self._next_job(next_record))
        delay, next_run_at = retry
        self._set_retried(reason, stacktrace.encode(), delay)
        return AttemptResult("retried", next_run_at)

    @operation
    async def move_to_waiting_children(self, token: str | None = None, *, child: ChildKey | None = None) -> bool:
        """Let the running job wait for its children. Its handler must then raise `WaitingChildrenError`.

        Args:
            token: the lock token; the job's own by default.
            child: wait only if this child is unfinished; by default, if any child is.

        Returns:
            False if there is nothing to wait for: the handler goes on.

        Raises:
            FailedChildrenError: a child with ``fail_parent_on_failure`` failed.
            JobLockMissingError, JobLockMismatchError: the job is no longer held.
        """
        child_key = None if child is None else f"{child['queue']}:{child['id']}"
        return await reply(
            self._source.core.move_to_waiting_children(self.id, await self._token_for_move(token), child_key)
        )

    async def _token_for_move(self, token: str | None) -> str:
        """Return the token for a call that moves the job out of ``active``.

        If the job was claimed ahead, its start is written to Redis first: after the move, the worker no longer owns the
        job.
        """
        await write_start(self)
        return self._lock_token(token)

    def _lock_token(self, token: str | None) -> str:
        """Return the given token, or the job's own, or ``0``: then the lock is not checked."""
        return token or self.token or _UNCHECKED

    def _next_job(self, record: JobRecord | None) -> Self | None:
        log_warnings(self._source)
        return None if record is None else type(self)(record, self._source)
