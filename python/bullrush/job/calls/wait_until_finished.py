"""Waiting until a job has finished."""

from __future__ import annotations

import contextlib
import time
from typing import Final, Literal

from bullrush._core import route_base
from bullrush.base.operation import LateReplyError, operation, reply
from bullrush.errors import BullrushError, InvalidOptionError, JobFailedError, JobWaitTimeoutError, from_code
from bullrush.events.queue_events import QueueEventsCalls
from bullrush.job.calls.end_signals import End, EndSignal, FollowedEvents, Polls, WakeMessages
from bullrush.job.failure import error_type, last_stack
from bullrush.job.fields import JobFields
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.encoding import JSON, decode

_WAYS: Final = ("notify", "events", "poll")
#: So many seconds the last look at a job may take when the time is over.
_LAST_LOOK: Final = 0.1


class JobResultWait(JobFields):
    """The call that waits for a job's result."""

    __slots__ = ()

    @operation
    async def wait_until_finished(
        self,
        queue_events: QueueEventsCalls | None = None,
        timeout: Duration | None = None,
        *,
        via: Literal["notify", "events", "poll"] | None = None,
    ) -> JSON:
        """Wait until the job is completed and return its result.

        Args:
            queue_events: a `QueueEvents` of the job's queue; many waits can share it. With it the end is seen at once,
                also that of a job that is removed when it finishes. Without it the job is polled.
            timeout: the longest wait in ms; None waits without limit.
            via: what tells of the end. ``events``: the queue's events, read once per process and queue if no
                ``queue_events`` are given. ``notify``: a message of the worker, for jobs with the option ``wake``; one
                connection per process serves all waits for jobs of all queues. ``poll``: nothing. By default ``events``
                with ``queue_events``, else ``poll``.

        Raises:
            JobFailedError: the job failed for good; the message is its reason, ``error_type`` the class of its error.
            JobNotFoundError: the job is gone.
            JobWaitTimeoutError: the job did not finish in time. It is not stopped. The error, a `TimeoutError`, has its
                ``state``.
            ClosedError: ``queue_events`` was closed.
            InvalidOptionError: ``queue_events`` are of another queue, or do not go with ``via``.

        Redis:
            Four plain commands in one round trip per poll, and one for a job that has failed. With ``events`` and
            ``notify`` one poll before the end and one after it, and one every 5 s plus or minus 10 %, since events and
            messages may get lost, and workers of Node publish no messages. With ``poll`` the time between two polls
            grows from 5 ms to 500 ms.
        """
        limit = None if timeout is None else checks.milliseconds("timeout", timeout)
        deadline = None if limit is None else time.monotonic() + limit / 1000
        signal = self._end_signal(queue_events, via)
        try:
            event, value = await self._end(signal, deadline)
            if event == "failed":
                raise JobFailedError(value, await self._error_type())
            return decode(value, "returnvalue", self.id)
        except LateReplyError:
            raise await self._late(limit, via) from None
        finally:
            signal.stop()

    async def _end(self, signal: EndSignal, deadline: float | None) -> End:
        """Return how the job ended.

        Args:
            signal: what tells of the end.
            deadline: until when the end is waited for, by `time.monotonic`; None is no limit.

        Raises:
            LateReplyError: it has not ended until then.
            JobNotFoundError: the job is gone.
        """

        def left() -> float:
            return float("inf") if deadline is None else max(0.0, deadline - time.monotonic())

        def until() -> float | None:
            """Return when an answer of Redis is late: a job that has ended already is seen without any time, too."""
            return None if deadline is None else max(deadline, time.monotonic() + _LAST_LOOK)

        await signal.follow(until())
        from_event: End | None = None
        while True:
            # Follow first, then poll: an end in between is seen by one of the two.
            begun = signal.begin(left())
            exists, end = await reply(self._source.core.job_end(self.id), until())
            if not exists:
                end = from_event or await signal.last(until())
                if end is None or end[0] == "removed":
                    moved = ", or the fallback of its route moved it" if route_base(self.queue_name) else ""
                    raise from_code(
                        -1,
                        f"Missing key for job {self.queue_qualified_name}:{self.id}. isFinished: the job does not "
                        "exist. It was removed, or remove_on_complete or remove_on_fail removed it when it "
                        f"finished{moved}",
                    )
            if end is not None:
                return end
            if left() <= 0:
                raise LateReplyError
            from_event = await signal.next(begun, left())

    def _end_signal(self, queue_events: QueueEventsCalls | None, via: str | None) -> EndSignal:
        if via is not None and via not in _WAYS:
            raise InvalidOptionError(f"via must be 'notify', 'events' or 'poll', not {via!r}")
        if queue_events is not None:
            self._check_follows(queue_events)
            if via not in {None, "events"}:
                raise InvalidOptionError(f"queue_events go with via='events', not with via={via!r}")
        core = self._source.core
        if queue_events is not None or via == "events":
            return FollowedEvents(self.id, core, queue_events)
        return WakeMessages(core, f"{self.queue_name}:{self.id}") if via == "notify" else Polls()

    def _check_follows(self, queue_events: object) -> None:
        if not isinstance(queue_events, QueueEventsCalls):
            raise InvalidOptionError(
                f"queue_events must be a QueueEvents, not {queue_events!r}; a time to wait is given as timeout="
            )
        if (queue_events.name, queue_events.prefix) != (self.queue_name, self.prefix):
            raise InvalidOptionError(
                f"{queue_events!r} follows {queue_events.qualified_name}, the job is in {self.queue_qualified_name}"
            )

    async def _late(self, limit: int | None, via: str | None) -> JobWaitTimeoutError:
        """Return the error of a wait whose time is over."""
        quiet = via == "notify" and not self.opts.get("wake")
        state, place = "unknown", ""
        # The time is over, whether Redis tells more or not.
        with contextlib.suppress(BullrushError, LateReplyError):
            until = time.monotonic() + _LAST_LOOK
            state = await reply(self._source.core.get_state(self.id), until)
            place = "" if state == "unknown" else f". Its state is {state}"
            if state == "waiting-children":
                (children,) = await reply(self._source.core.count_children(self.id, ["unprocessed"]), until)
                place += f": it waits for {children:,} {'child' if children == 1 else 'children'}"
        return JobWaitTimeoutError(
            f"Job wait {self.name} timed out before finishing, no finish notification arrived after {limit}ms "
            f"(id={self.id}){place}"
            + (". The job has no option wake=True, so nobody publishes its end for via='notify'" if quiet else ""),
            state,
        )

    async def _error_type(self) -> str | None:
        """Return the class of the error that the job failed with; None if nothing tells it in time."""
        # The job has failed, whether Redis tells more or not.
        with contextlib.suppress(BullrushError, LateReplyError):
            until = time.monotonic() + _LAST_LOOK
            ((stacks,),) = await reply(self._source.core.job_fields([self.id], ["stacktrace"]), until)
            return error_type(last_stack(stacks))
        return None
