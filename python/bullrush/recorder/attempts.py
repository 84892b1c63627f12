"""What the events of a job say about its attempts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

#: How an attempt ended: ``retried`` went back to its queue, ``waiting-children`` waits for its children.
Outcome: TypeAlias = Literal["completed", "failed", "retried", "stalled", "waiting-children", "removed"]
#: What a job did before it could start: wait for a worker, for its time, or for its children.
Before: TypeAlias = Literal["wait", "delay", "children"]
OUTCOMES: Final = ("completed", "failed", "retried", "stalled", "waiting-children", "removed")


class JobEvent(NamedTuple):
    """One event of a job.

    Attributes:
        kind: what happened.
        job_id: to which job.
        at: when Redis wrote it.
        text: the name of an added job, the state before, or why it failed.
    """

    kind: str
    job_id: str
    at: int
    text: str | None


@dataclass
class Attempt:
    """One attempt of a job, as the event stream tells it. Times are in ms since 1970; None is not known, or not yet.

    Attributes:
        queue: the name of the queue.
        job_id: the job.
        name: the name of the job; None if its beginning was not seen.
        number: 1 for the first attempt; None if the beginning of the job was not seen.
        before: what the job did before it could start; None if that was not seen.
        queued: when it began to wait.
        ready: when it could start: its time had come, or its children had ended.
        claimed: when a worker took it.
        ended: when the attempt ended.
        outcome: how it ended; None if it goes on, or if its end was not seen.
        fingerprint: of the reason, if the job failed for good. The stream has no reasons of attempts that are retried.
    """

    queue: str
    job_id: str
    name: str | None = None
    number: int | None = None
    before: Before | None = None
    queued: int | None = None
    ready: int | None = None
    claimed: int | None = None
    ended: int | None = None
    outcome: Outcome | None = None
    fingerprint: str | None = None


class Attempts:
    """The last attempts of one job, and what its next events make of them.

    Attributes:
        known: the attempts, the last one at the end.
        end: how the job ended for good in these events, if it did.
    """

    def __init__(self, queue: str, job_id: str, known: Iterable[Attempt] = ()) -> None:
        """Take the attempts that are known already: the last two are enough."""
        self._queue = queue
        self._job_id = job_id
        self.known: list[Attempt] = list(known)
        self.end: Literal["completed", "failed"] | None = None

    def take(self, event: JobEvent, fingerprint: str | None) -> None:
        """Note an event.

        Args:
            event: it comes after all events before.
            fingerprint: of its reason, if the job failed.
        """
        match event.kind:
            case "added":
                self._begin(event.at, number=1, name=event.text)
            case "waiting":
                self._wait(event)
            case "delayed":
                self._put_back(event.at, "delay", "retried")
            case "waiting-children":
                self._put_back(event.at, "children", "waiting-children")
            case "active":
                self._start(event.at)
            case "stalled":
                self._stall()
            case "removed":
                if self._open is not None:
                    self._close(event.at, "removed")
            case "completed":
                self._finish(event.at, "completed", None)
            case "failed":
                self._finish(event.at, "failed", fingerprint)

    @property
    def _open(self) -> Attempt | None:
        last = self.known[-1] if self.known else None
        return last if last is not None and last.ended is None else None

    def _begin(self, at: int | None, *, number: int | None, name: str | None) -> Attempt:
        self.known.append(Attempt(self._queue, self._job_id, name, number, queued=at))
        return self.known[-1]

    def _next(self, at: int | None) -> Attempt:
        """Begin the attempt behind the last one."""
        last = self.known[-1] if self.known else None
        # An attempt whose end was not seen may have had others behind it.
        number = None if last is None or last.number is None or last.ended is None else last.number + 1
        return self._begin(at, number=number, name=None if last is None else last.name)

    def _wait(self, event: JobEvent) -> None:
        running = self._open
        if event.text == "active" and running is not None:
            # It stalled if the event before said so.
            self._close(event.at, running.outcome or "retried")
            running = None
        if running is None:
            was_seen = event.text in {"active", "completed", "failed"}
            running = self._next(event.at if was_seen else None)
            running.before = "wait" if was_seen else None
        elif running.claimed is not None:
            # Its end was not seen.
            running = self._next(None)
        running.ready = event.at
        running.before = running.before or "wait"

    def _put_back(self, at: int, before: Before, outcome: Outcome) -> None:
        """Note that a job waits for something else than a worker, after an attempt or before its first one."""
        running = self._open
        if running is not None and running.claimed is not None:
            self._close(at, outcome)
            running = None
        if running is None:
            running = self._next(at)
        running.before, running.ready = before, None

    def _start(self, at: int) -> None:
        running = self._open
        if running is None or running.claimed is not None:
            running = self._next(None)
        running.claimed = at

    def _stall(self) -> None:
        """Note that the worker of an attempt was lost. The event comes before or after that of the next attempt."""
        running = self._open
        if running is not None and running.claimed is not None:
            running.outcome = "stalled"
        elif len(self.known) > 1 and self.known[-2].outcome == "retried":
            self.known[-2].outcome = "stalled"

    def _close(self, at: int, outcome: Outcome) -> None:
        self.known[-1].ended, self.known[-1].outcome = at, outcome

    def _finish(self, at: int, outcome: Literal["completed", "failed"], fingerprint: str | None) -> None:
        if self._open is None:
            self._next(None)
        self._close(at, outcome)
        self.known[-1].fingerprint = fingerprint
        self.end = outcome
