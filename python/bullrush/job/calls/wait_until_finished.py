"""Waiting until a job has finished."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from bullrush.base.operation import operation, reply, sleep
from bullrush.errors import InvalidOptionError, JobFailedError, from_code
from bullrush.events.queue_events import QueueEventsCalls
from bullrush.job.fields import JobFields
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.encoding import JSON, decode

if TYPE_CHECKING:
    from bullrush._core import Pending

_FIRST_POLL: Final = 0.005
_LONGEST_POLL: Final = 0.5
#: How often the job is read while events are followed, in case an event gets lost.
_RECHECK_MS: Final = 5_000
#: How long to wait for the last event of a job that no longer exists.
_LAST_EVENT_MS: Final = 500
_CONNECT_MS: Final = 10_000

#: How a job ended: ``completed`` and its result as JSON, or ``failed`` and its reason.
_End = tuple[str, str]


class JobResultWait(JobFields):
    """The call that waits for a job's result."""

    __slots__ = ()

    @operation
    async def wait_until_finished(
        self, queue_events: QueueEventsCalls | None = None, timeout: Duration | None = None
    ) -> JSON:
        """Wait until the job is completed and return its result.

        Args:
            queue_events: a `QueueEvents` of the job's queue; many waits can share it. With it the end is seen at once,
                also that of a job that is removed when it finishes. Without it the job is polled.
            timeout: the longest wait in ms; None waits without limit.

        Raises:
            JobFailedError: the job failed for good; the message is its reason.
            JobNotFoundError: the job is gone.
            TimeoutError: the job did not finish in time. It is not stopped.
            ClosedError: ``queue_events`` was closed.

        Redis:
            Four plain commands in one round trip per poll. With ``queue_events`` one poll before the event and one
            after it, and one every 5 s. Without it the time between two polls grows from 5 ms to 500 ms.
        """
        limit = None if timeout is None else checks.milliseconds("timeout", timeout)
        deadline = float("inf") if limit is None else time.monotonic() + limit / 1000
        if queue_events is not None:
            self._check_follows(queue_events)
            await reply(queue_events.following(_CONNECT_MS))
        from_event: _End | None = None
        interval = _FIRST_POLL
        while True:
            # Follow events first, then poll: an end in between is seen by one of the two.
            event = self._end_event(queue_events, deadline)
            exists, end = await self._poll()
            if not exists:
                end = from_event if from_event or queue_events is None else await self._last_event(queue_events)
                if end is None or end[0] == "removed":
                    raise from_code(
                        -1,
                        f"Missing key for job {self.queue_qualified_name}:{self.id}. isFinished: the job does not exist. "
                        "It was removed, or remove_on_complete or remove_on_fail removed it when it finished",
                    )
            if end is not None:
                return self._result(*end)
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(
                    f"Job wait {self.name} timed out before finishing, no finish notification arrived after {limit}ms (id={self.id})"
                )
            if event is None:
                await sleep(min(interval, left))
                interval = min(interval * 1.5, _LONGEST_POLL)
            else:
                from_event = await reply(event)

    def _check_follows(self, queue_events: object) -> None:
        if not isinstance(queue_events, QueueEventsCalls):
            raise InvalidOptionError(
                f"queue_events must be a QueueEvents, not {queue_events!r}; a time to wait is given as timeout="
            )
        if (queue_events.name, queue_events.prefix) != (self.queue_name, self.prefix):
            raise InvalidOptionError(
                f"{queue_events!r} follows {queue_events.qualified_name}, the job is in {self.queue_qualified_name}"
            )

    def _end_event(self, queue_events: QueueEventsCalls | None, deadline: float) -> Pending[_End | None] | None:
        if queue_events is None:
            return None
        left = max(0, round((deadline - time.monotonic()) * 1000)) if deadline < float("inf") else _RECHECK_MS
        return queue_events.outcome(self.id, min(left, _RECHECK_MS))

    async def _last_event(self, queue_events: QueueEventsCalls) -> _End | None:
        return await reply(queue_events.outcome(self.id, _LAST_EVENT_MS, late=True))

    async def _poll(self) -> tuple[bool, _End | None]:
        """Return whether the job exists, and how it ended, None if it has not."""
        base = f"{self.queue_qualified_name}:"
        completed, failed, (returnvalue, reason), exists = await reply(
            self._source.core.commands(
                [
                    ["ZSCORE", f"{base}completed", self.id],
                    ["ZSCORE", f"{base}failed", self.id],
                    ["HMGET", base + self.id, "returnvalue", "failedReason"],
                    # The last command, so that it sees a job that was removed between the commands.
                    ["EXISTS", base + self.id],
                ]
            )
        )
        if exists and completed is not None:
            return True, ("completed", (returnvalue or b"null").decode(errors="replace"))
        if exists and failed is not None:
            return True, ("failed", (reason or b"null").decode(errors="replace"))
        return bool(exists), None

    def _result(self, event: str, value: str) -> JSON:
        if event == "failed":
            raise JobFailedError(value)
        return decode(value, "returnvalue", self.id)
