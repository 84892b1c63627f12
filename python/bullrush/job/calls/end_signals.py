"""What tells a waiter that a job may have finished."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final, Protocol

from bullrush.base.operation import reply, sleep

if TYPE_CHECKING:
    from bullrush._core import CoreQueue, Pending
    from bullrush.events.queue_events import QueueEventsCalls

_FIRST_POLL: Final = 0.005
_LONGEST_POLL: Final = 0.5
#: How often the job is read although something tells of its end, since that may get lost.
RECHECK_MS: Final = 5_000
#: How long to wait for the last event of a job that no longer exists.
_LAST_EVENT_MS: Final = 500
_CONNECT_MS: Final = 10_000
#: So many entries are read that came while a reader connected.
_MISSED: Final = 1_000
#: The events that end a job, with the field of its result or reason.
_ENDS: Final = {"completed": "returnvalue", "failed": "failedReason"}

#: How a job ended: ``completed`` and its result as JSON, ``failed`` and its reason, or ``removed``.
End = tuple[str, str]


class EndSignal(Protocol):
    """Tells a waiter when to look at its job again. All methods are parts of an operation."""

    async def follow(self, until: float | None) -> None:
        """Begin, so that no end after this moment is missed; see `reply` for ``until``."""

    def begin(self, left: float) -> Pending[object] | None:
        """Start to wait before the job is looked at, at most that many seconds."""

    async def next(self, begun: Pending[object] | None, left: float) -> End | None:
        """Wait for the next moment to look, at most ``left`` seconds; return how the job ended, if that is known."""

    async def last(self, until: float | None) -> End | None:
        """Return how a job ended that no longer exists, None if that is not known; see `reply` for ``until``."""

    def stop(self) -> None:
        """End."""


def _recheck_ms(left: float) -> int:
    """Return the time until the job is read in any case: about 5 s, so that many waiters do not read at once."""
    return max(0, round(min(left * 1000, RECHECK_MS * random.uniform(0.9, 1.1))))


class Polls:
    """Looks again and again, more and more rarely."""

    def __init__(self) -> None:
        self._interval = _FIRST_POLL

    async def follow(self, until: float | None) -> None:
        """Begin."""

    def begin(self, left: float) -> None:
        """Start nothing."""

    async def next(self, begun: Pending[object] | None, left: float) -> None:  # noqa: ARG002 - see `EndSignal`
        """Wait a while."""
        await sleep(min(self._interval, left))
        self._interval = min(self._interval * 1.5, _LONGEST_POLL)

    async def last(self, until: float | None) -> None:
        """Return nothing: what is gone was not seen."""

    def stop(self) -> None:
        """End."""


class FollowedEvents:
    """The events of a queue, by a `QueueEvents` or the reader that all waiters of a process share."""

    def __init__(self, job_id: str, core: CoreQueue, queue_events: QueueEventsCalls | None) -> None:
        self._job_id = job_id
        self._given = queue_events
        self._core = core
        self._shared = None if queue_events is not None else core.events()
        #: The last entry of the stream before a reader was started for this wait: what comes while it connects is read
        #: afterwards, if the job is gone by then.
        self._before: str | None = None

    async def follow(self, until: float | None) -> None:
        """Wait until the position in the stream is known."""
        if self._given is not None:
            await reply(self._given._following(_CONNECT_MS), until)
        if self._shared is not None:
            if self._shared.start():
                asked = self._core.stream_ends()
                ready = self._shared.ready(_CONNECT_MS)
                self._before = (await reply(asked, until))[1] or "0-0"
                await reply(ready, until)
            else:
                await reply(self._shared.ready(_CONNECT_MS), until)

    def begin(self, left: float) -> Pending[End | None]:
        """Start to wait for the last event of the job."""
        return self._outcome(_recheck_ms(left), late=False)

    async def next(self, begun: Pending[object] | None, left: float) -> End | None:  # noqa: ARG002 - see `EndSignal`
        """Wait for the event."""
        end: object = None if begun is None else await reply(begun)
        return end if isinstance(end, tuple) else None

    async def last(self, until: float | None) -> End | None:
        """Return the last event of the job."""
        end = await reply(self._outcome(_LAST_EVENT_MS, late=True), until)
        return end or await self._missed(until)

    async def _missed(self, until: float | None) -> End | None:
        """Return how the job ended while the reader of this wait connected."""
        if self._before is None:
            return None
        entries = await reply(self._core.stream_entries(self._before, "+", _MISSED), until)
        for _, fields in reversed(entries):
            event = dict(fields)
            if event.get("jobId") == self._job_id and (field := _ENDS.get(event.get("event", ""))):
                return event["event"], event.get(field, "")
        return None

    def _outcome(self, timeout_ms: int, *, late: bool) -> Pending[End | None]:
        if self._given is not None:
            return self._given._outcome(self._job_id, timeout_ms, late=late)
        assert self._shared is not None
        return self._shared.wait_until_finished(self._job_id, timeout_ms, late)

    def stop(self) -> None:
        """End: the shared reader ends with its last waiter."""


class WakeMessages:
    """The messages of workers that finish jobs with the option ``wake``."""

    def __init__(self, core: CoreQueue, key: str) -> None:
        self._messages = core.notifications()
        self._key = key

    async def follow(self, until: float | None) -> None:  # noqa: ARG002 - see `EndSignal`
        """Begin. The confirmation of the subscription counts as a message, since an end before it was missed."""
        self._messages.listen("chainc", self._key, quiet=False)

    def begin(self, left: float) -> None:
        """Start nothing: messages are kept until they are read."""

    async def next(self, begun: Pending[object] | None, left: float) -> None:  # noqa: ARG002 - see `EndSignal`
        """Wait for a message."""
        await reply(self._messages.next(_recheck_ms(left)))

    async def last(self, until: float | None) -> None:
        """Return nothing: a message does not say how the job ended."""

    def stop(self) -> None:
        """Leave the channel."""
        self._messages.close()
