"""The calls that change a job: data, progress, log, delay, priority; and retrying and removing it."""

from __future__ import annotations

from typing import Final, Literal

from bullrush.base.operation import operation, reply
from bullrush.errors import InvalidOptionError, JobLockMismatchError
from bullrush.job.failure import CANCELLED
from bullrush.job.fields import JobFields
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.encoding import JSON, encode

#: How many rows a log keeps unless the job's options say otherwise.
DEFAULT_KEPT_LOGS: Final = 100
_MAX_PROGRESS: Final = 100


class JobChanges(JobFields):
    """The calls that change a job and leave it to the workers."""

    __slots__ = ()

    @operation
    async def update_data(self, data: JSON) -> None:
        """Replace the job's data.

        Args:
            data: any JSON value.

        Raises:
            DataError: a part of it is not JSON.
            JobNotFoundError: the job is gone.
        """
        encoded = encode(data, "data")
        await reply(self._source.core.update_data(self.id, encoded))
        self._data = data
        self._change(data=encoded)

    @operation
    async def update_progress(self, progress: JSON, row: str | None = None, *, strict: bool = True) -> None:
        """Set the job's progress and publish it as an event ``progress``; ``update_progress(25, "Scene 1")`` also logs.

        Args:
            progress: a number from 0 to 100, or any other JSON value.
            row: is appended to the job's log in the same call; see `log`.
            strict: False allows any number.

        Raises:
            InvalidOptionError: the number is not between 0 and 100.
            JobNotFoundError: the job is gone.
            TooLargeError: it is longer than ``payload_limit``; nothing was written.
        """
        encoded = encode_progress(progress, strict=strict)
        text = None if row is None else (str(row), self._kept_logs())
        await reply(self._source.core.update_progress(self.id, encoded, text))
        self._change(progress=encoded)
        self._source._report_progress(self, progress)

    @operation
    async def log(self, row: str) -> int:
        """Append a row to the job's log.

        The log keeps the last ``keep_logs`` rows (an option of the job): 100 by default, all rows if it is 0.

        Args:
            row: the text of the row.

        Returns:
            How many rows the log has now.

        Raises:
            JobNotFoundError: the job is gone.
            TooLargeError: the row is longer than ``payload_limit``; nothing was written.
        """
        return await reply(self._source.core.add_log(self.id, str(row), self._kept_logs()))

    def _kept_logs(self) -> int | None:
        """Return how many rows of the log are kept, None for all."""
        return self.opts.get("keep_logs", DEFAULT_KEPT_LOGS) or None

    @operation
    async def clear_logs(self, keep_logs: int | None = None) -> None:
        """Remove the job's log; with ``keep_logs``, keep that many of its last rows.

        Args:
            keep_logs: how many of the last rows stay; None removes all.
        """
        await reply(self._source.core.clear_logs(self.id, keep_logs))

    @operation
    async def change_delay(self, delay: Duration) -> None:
        """Change when a delayed job becomes due: ``delay`` ms from now.

        Args:
            delay: ms from now, or a timedelta.

        Raises:
            JobNotFoundError: the job is gone.
            JobStateError: it is not delayed.
        """
        until = checks.milliseconds("delay", delay)
        await reply(self._source.core.change_delay(self.id, until))
        self._change(delay=b"%d" % until)

    @operation
    async def change_priority(self, *, priority: int = 0, lifo: bool = False) -> None:
        """Change the job's priority.

        Args:
            priority: 1 is the most urgent; 0 is no priority.
            lifo: put the job before the other jobs of the same priority.

        Raises:
            JobNotFoundError: the job is gone.
        """
        number = checks.priority("priority", priority)
        await reply(self._source.core.change_priority(self.id, number, checks.boolean("lifo", lifo)))
        self._change(priority=b"%d" % number)

    @operation
    async def promote(self) -> None:
        """Move a delayed job to wait, so that it can run now.

        Raises:
            JobStateError: the job is not delayed.
        """
        await reply(self._source.core.promote(self.id))
        self._change(delay=b"0")

    @operation
    async def remove(self, *, remove_children: bool = True) -> None:
        """Remove the job, and by default its children.

        Args:
            remove_children: False leaves the children.

        Raises:
            JobLockMismatchError: a worker runs the job.
            SchedulerJobError: the job is the next job of a job scheduler.
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
        """Move a failed (or completed) job back to wait.

        A parent in ``waiting-children`` waits for it again. A parent that has failed stays failed: retry it when its
        children have completed, since a parent that is retried runs at once.

        Args:
            state: the state that the job is in.
            reset_attempts_made: set ``attempts_made`` to 0, so that the job is retried automatically again.
            reset_attempts_started: set ``attempts_started`` to 0.

        Raises:
            JobNotFoundError: the job is gone.
            JobStateError: the job is not in ``state``.
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
    async def cancel(self, reason: str | None = None) -> bool:
        """Cancel the job if it runs, whichever worker of bullrush runs it; see `Queue.cancel_job`.

        The worker sees it within about a second. A job that does not run yet is taken back by `remove`.

        Args:
            reason: the reason with which the job fails.

        Returns:
            False if no worker runs the job.

        Redis:
            See `Queue.cancel_job`.
        """
        reason = checks.text("reason", reason or CANCELLED)
        return await reply(self._source.core.cancel_job(self.id, reason))

    @operation
    async def remove_deduplication_key(self) -> bool:
        """Free the job's deduplication id, so that the next job with this id is added.

        Returns:
            False if the job has no such id, or if the id belongs to another job by now.
        """
        id = self.deduplication_id
        return id is not None and await reply(self._source.core.remove_deduplication_key(self.id, id))

    def discard(self) -> None:
        """Do not retry the job if the running attempt fails."""
        self._discarded = True


def encode_progress(progress: JSON, *, strict: bool = True) -> bytes:
    """Return a progress as JSON.

    Raises:
        InvalidOptionError: ``strict``, and the number is not between 0 and 100.
    """
    encoded = encode(progress, "progress")
    if strict and isinstance(progress, int | float) and not 0 <= progress <= _MAX_PROGRESS:
        raise InvalidOptionError(
            f"progress must be between 0 and {_MAX_PROGRESS}, not {progress}; strict=False allows it"
        )
    return encoded
