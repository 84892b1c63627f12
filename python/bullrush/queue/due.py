"""What is due in a queue, as Redis says, in two round trips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson

from bullrush._core import now_ms
from bullrush.base.operation import reply
from bullrush.values.encoding import read_number

if TYPE_CHECKING:
    from bullrush._core import Pending

#: The scores of delayed jobs are ms times this number.
_SCORE: Final = 4096
#: `Queue.rate_limit` stores a number of started jobs that no limit reaches.
_LIMITED_BY_HAND: Final = 1 << 50


@dataclass(frozen=True)
class DueWork:
    """What waits in a queue, as Redis says.

    Attributes:
        paused: the queue is paused.
        limited: the rate limit or the global concurrency lets no job start now.
        limited_by_workers: perhaps a rate limit lets no job start now: only the workers know it, and one has begun a
            period of it.
        active: how many jobs run, on all workers.
        oldest_id: the job that has been due the longest; None if none is due.
        oldest_age: for how many ms it has been due; None if nobody knows, since its hash is gone.
        last_start_age: how many ms ago a job started or finished, on any worker; None if Redis does not know.
    """

    paused: bool
    limited: bool
    limited_by_workers: bool
    active: int
    oldest_id: str | None
    oldest_age: int | None
    last_start_age: int | None

    def is_stuck(self, claimed: int | None, stuck_after: int) -> bool:
        """Tell whether work is due, may start, and nobody claims it.

        Args:
            claimed: how many ms ago a job was claimed.
            stuck_after: after how many ms that is a problem.
        """
        if self.paused or self.limited or self.limited_by_workers or self.oldest_id is None:
            return False
        if self.oldest_age is not None and self.oldest_age < stuck_after:
            return False
        return claimed is None or claimed >= stuck_after


class Sends(Protocol):
    """The compiled side of a queue, or what sends commands like it."""

    def commands(self, commands: Sequence[Sequence[int | str | bytes]], /) -> Pending[list[Any]]:
        """Send commands in one pipeline."""


async def due_work(core: Sends, to_key: Callable[[str], str], most: int | None = None) -> DueWork:
    """Ask Redis what is due in a queue; awaited inside an operation.

    Args:
        core: what sends the commands.
        to_key: returns the key of a part of the queue.
        most: the ``max`` of the worker's limiter; by default that of the global rate limit.

    Raises:
        ConnectionLostError: Redis could not be reached in time.
    """
    now = now_ms()
    (
        (paused, concurrency, stored_most),
        waiting,
        prioritized,
        delayed,
        active,
        running,
        used,
        ttl,
        *finished,
    ) = await reply(
        core.commands(
            [
                ["HMGET", to_key("meta"), "paused", "concurrency", "max"],
                ["LINDEX", to_key("wait"), -1],
                ["ZRANGE", to_key("prioritized"), 0, 0],
                ["ZRANGEBYSCORE", to_key("delayed"), "-inf", (now + 1) * _SCORE - 1, "WITHSCORES", "LIMIT", 0, 1],
                ["LLEN", to_key("active")],
                ["LINDEX", to_key("active"), 0],
                ["GET", to_key("limiter")],
                ["PTTL", to_key("limiter")],
                ["ZREVRANGE", to_key("completed"), 0, 0, "WITHSCORES"],
                ["ZREVRANGE", to_key("failed"), 0, 0, "WITHSCORES"],
            ]
        )
    )
    ids = [_text(id) for id in (waiting, *prioritized[:1], running) if id is not None]
    stored = await reply(core.commands([_fields(to_key(id)) for id in ids])) if ids else []
    times = dict(zip(ids, stored, strict=True))
    due: dict[str, int | None] = {id: _due_since(times[id]) for id in ids if running is None or id != _text(running)}
    if delayed:
        due[_text(delayed[0])] = (read_number(delayed[1]) or 0) // _SCORE
    known = {id: since for id, since in due.items() if since is not None}
    oldest = min(known, key=lambda id: known[id], default=next(iter(due), None))
    starts = [read_number(entry[1]) or 0 for entry in finished if entry]
    if running is not None:
        starts.append(read_number(times[_text(running)][1]) or 0)
    slots, limit = read_number(concurrency), most or read_number(stored_most)
    started = (read_number(used) or 0) if ttl > 0 else 0
    return DueWork(
        paused=paused is not None,
        limited=(slots is not None and active >= slots) or (started >= (limit or _LIMITED_BY_HAND)),
        limited_by_workers=limit is None and started > 0,
        active=active,
        oldest_id=oldest,
        oldest_age=max(0, now - known[oldest]) if oldest in known else None,
        last_start_age=max(0, now - max(starts)) if starts else None,
    )


def _text(id: bytes) -> str:
    return id.decode(errors="replace")


def _fields(key: str) -> Sequence[str]:
    return ["HMGET", key, "timestamp", "processedOn", "opts"]


def _due_since(fields: Sequence[Any]) -> int | None:
    """Return since when a waiting job has been due: its time of adding and its delay, or its last start; None without a hash."""
    added, started, opts = fields
    if added is None and started is None:
        return None
    try:
        delay = orjson.loads(opts or b"{}").get("delay")
    except (ValueError, AttributeError):
        delay = None
    first = (read_number(added) or 0) + (delay if isinstance(delay, int) and delay > 0 else 0)
    return max(first, read_number(started) or 0)
