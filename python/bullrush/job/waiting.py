"""Waiting for the end of a job."""

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
#: How often Redis is asked while events are followed, in case one gets lost.
_SAFETY_MS: Final = 5_000
#: How long the event of a job that is gone may still be on its way.
_ON_ITS_WAY_MS: Final = 500
_CONNECT_MS: Final = 10_000

#: How a job ended: completed or failed, and its result as JSON or its reason.
_End = tuple[str, str]


class JobResultWait(JobFields):
    """The call that waits."""

    __slots__ = ()

    @operation
    async def wait_until_finished(
        self, queue_events: QueueEventsCalls | None = None, timeout: Duration | None = None
    ) -> JSON:
        """Wait until the job is completed and return its result.

        Args:
            queue_events: follows the job's queue; any number of waits may share one. It tells of the end at once, also of jobs that
                are removed when they finish. Without it the job is looked at again and again.
            timeout: ms to wait; None waits for ever.

        Raises:
            JobFailedError: the job failed; the message is its reason.
            JobNotFoundError: the job is gone.
            TimeoutError: not finished in time; the job goes on.
            ClosedError: ``queue_events`` was closed.

        Redis:
            Four plain commands in a round trip per look. With ``queue_events`` one look before and one after the event, and one every
            5 s; without, one after 5 ms, then less and less often, in the end every 500 ms.
        """
        limit = None if timeout is None else checks.milliseconds("timeout", timeout)
        deadline = float("inf") if limit is None else time.monotonic() + limit / 1000
        if queue_events is not None:
            self._check_follows(queue_events)
            await reply(queue_events.following(_CONNECT_MS))
        told: _End | None = None
        interval = _FIRST_POLL
        while True:
            # Listen first, then look: what ends in between is seen by one of the two.
            telling = self._telling(queue_events, deadline)
            exists, end = await self._look()
            if not exists:
                end = told if told or queue_events is None else await self._last_words(queue_events)
                if end is None or end[0] == "removed":
                    raise from_code(-1, f"Missing key for job {self.queue_qualified_name}:{self.id}. isFinished")
            if end is not None:
                return self._result(*end)
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(
                    f"Job wait {self.name} timed out before finishing, no finish notification arrived after {limit}ms (id={self.id})"
                )
            if telling is None:
                await sleep(min(interval, left))
                interval = min(interval * 1.5, _LONGEST_POLL)
            else:
                told = await reply(telling)

    def _check_follows(self, queue_events: object) -> None:
        if not isinstance(queue_events, QueueEventsCalls):
            raise InvalidOptionError(
                f"queue_events must be a QueueEvents, not {queue_events!r}; a time to wait is given as timeout="
            )
        if (queue_events.name, queue_events.prefix) != (self.queue_name, self.prefix):
            raise InvalidOptionError(
                f"{queue_events!r} follows {queue_events.qualified_name}, the job is in {self.queue_qualified_name}"
            )

    def _telling(self, queue_events: QueueEventsCalls | None, deadline: float) -> Pending[_End | None] | None:
        if queue_events is None:
            return None
        left = max(0, round((deadline - time.monotonic()) * 1000)) if deadline < float("inf") else _SAFETY_MS
        return queue_events.outcome(self.id, min(left, _SAFETY_MS))

    async def _last_words(self, queue_events: QueueEventsCalls) -> _End | None:
        return await reply(queue_events.outcome(self.id, _ON_ITS_WAY_MS, late=True))

    async def _look(self) -> tuple[bool, _End | None]:
        """Return whether the job exists, and how it ended if it has."""
        base = f"{self.queue_qualified_name}:"
        completed, failed, (returnvalue, reason), exists = await reply(
            self._source.core.commands(
                [
                    ["ZSCORE", f"{base}completed", self.id],
                    ["ZSCORE", f"{base}failed", self.id],
                    ["HMGET", base + self.id, "returnvalue", "failedReason"],
                    # Last: then it tells of a job that was removed in between.
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
