"""Jobs whose results somebody waits for. Their ends are read from Redis, so that no lost event can be waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from bullrush.errors import ConnectionLostError

if TYPE_CHECKING:
    from bullrush.queue import Queue

#: The most jobs that one look reads: about 1 ms of the server's time.
_MOST: Final = 500
_FEWEST: Final = 32
#: How many of the oldest jobs each look reads; they are usually the next to finish.
_OLDEST: Final = 16
_SHORTEST_PAUSE: Final = 0.002
_LONGEST_PAUSE: Final = 0.1


class Answer(NamedTuple):
    """How a call ended: with a result, as JSON, or with an error."""

    result: str | None
    error: str | None


class OpenCalls:
    """The unfinished jobs of one task.

    Each look reads the oldest jobs and a part of the others. The part grows while much is found finished; otherwise it
    shrinks and the pauses grow, up to 100 ms. So a task costs Redis one to two HMGET per job, and 500 per second when
    nothing happens, however many jobs are open.

    Args:
        queue: the queue.
        timeout: seconds that a job may take, from `add` on.
        clock: returns seconds.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        queue: Queue,
        timeout: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._queue = queue
        self._timeout = timeout
        self._clock = clock
        self._sleep = sleep
        self._deadlines: dict[str, float] = {}  # the oldest first
        self._place = 0
        self._part = _FEWEST
        self._pause = _SHORTEST_PAUSE
        self._answered = clock()  # when Redis answered last

    def __len__(self) -> int:
        return len(self._deadlines)

    def add(self, ids: Iterable[str]) -> None:
        """Wait for the results of these jobs, too."""
        deadline = self._clock() + self._timeout
        for job_id in ids:
            self._deadlines.setdefault(job_id, deadline)

    def ended(self) -> dict[str, Answer]:
        """Look once, and return the calls that ended since the last look. It pauses before it returns nothing.

        Raises:
            ConnectionLostError: Redis could not be reached for as long as a job may take.
        """
        ids = list(self._deadlines)
        asked, looked = self._next(ids), self._clock()
        late = [job_id for job_id in asked if self._deadlines[job_id] <= looked]
        try:
            found = self._read(asked)
        except ConnectionLostError:
            if self._clock() - self._answered > self._timeout:
                raise
            self._sleep(_LONGEST_PAUSE)
            return {}
        self._answered = looked
        answers = {job_id: answer for job_id, answer in zip(asked, found, strict=True) if isinstance(answer, Answer)}
        self._adapt(len(asked), len(answers))
        for job_id, answer in zip(asked, found, strict=True):
            if job_id in late and not isinstance(answer, Answer):
                answers[job_id] = Answer(None, f"no result within {self._timeout:g} s; {answer} (job {job_id})")
        for job_id in answers:
            del self._deadlines[job_id]
        return answers

    def _next(self, ids: Sequence[str]) -> Sequence[str]:
        """Return the ids to read now: the oldest, and a part of the others that moves on from look to look."""
        if len(ids) <= _OLDEST + self._part:
            return ids
        start = _OLDEST + self._place % (len(ids) - _OLDEST)
        self._place += self._part
        return [*ids[:_OLDEST], *ids[start : start + self._part]]

    def _adapt(self, asked: int, ended: int) -> None:
        if 2 * ended >= asked:
            self._part, self._pause = min(2 * self._part, _MOST), _SHORTEST_PAUSE
        elif ended:
            self._pause = _SHORTEST_PAUSE
            self._sleep(self._pause)
        else:
            self._part, self._pause = max(self._part // 2, _FEWEST), min(2 * self._pause, _LONGEST_PAUSE)
            self._sleep(self._pause)

    def _read(self, ids: Sequence[str]) -> list[Answer | str]:
        """Return the answer of each job, or a sentence about a job that has none yet."""
        ends = self._queue.core.job_fields(ids, _FIELDS).wait()
        return [_answer(job_id, _End(*fields)) for job_id, fields in zip(ids, ends, strict=True)]


#: The names of the fields of `_End` in Redis.
_FIELDS: Final = ("timestamp", "finishedOn", "returnvalue", "failedReason", "processedOn")


class _End(NamedTuple):
    """How far a job is."""

    timestamp: bytes | None
    finished_on: bytes | None
    returnvalue: bytes | None
    failed_reason: bytes | None
    processed_on: bytes | None


def _answer(job_id: str, end: _End) -> Answer | str:
    if end.timestamp is None:
        return Answer(None, f"job {job_id} was removed before its result was read")
    if end.finished_on is None:
        return "no worker has started the job" if end.processed_on is None else "a worker has started the job"
    if end.returnvalue is not None:  # the reason of an earlier attempt stays in the hash
        return Answer(end.returnvalue.decode(errors="replace"), None)
    return Answer(None, (end.failed_reason or b"").decode(errors="replace") or "the job failed without a reason")
