"""A progress bar for the jobs of a queue, read from Redis. It works with any session and in any program."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

from bullrush.errors import BullrushError, InvalidOptionError
from bullrush.queue import Queue
from bullrush.spark.address import Address

if TYPE_CHECKING:
    from tqdm import tqdm

_OPEN: Final = ("waiting", "paused", "prioritized", "delayed", "active", "waiting-children")
_DONE: Final = ("completed", "failed")
_SHOWN: Final = ("waiting", "active", *_DONE)

#: A bar must not hold up the block for long when Redis does not answer.
_TIMEOUT_MS: Final = 2_000

_log: Final = logging.getLogger("bullrush")


@contextmanager
def progress(
    queue: str,
    *,
    url: str | None = None,
    urls: Sequence[str] | None = None,
    prefix: str | None = None,
    count: Literal["added", "finished"] = "finished",
    total: int | None = None,
    every: float = 0.5,
) -> Iterator[tqdm[None]]:
    """Show a progress bar of a queue during the block: rate, remaining time, and the number of jobs per state.

    An outage of Redis stops the bar for a while, not the block.

    Args:
        queue: the queue's name.
        url: the URL of Redis for this process.
        urls: instead of ``url``: several servers, whose jobs are counted together.
        prefix: the prefix of the queue's keys, ``bull`` by default.
        count: which jobs the bar counts: those that finish, or those that are added. Rows whose job exists already
            count as added.
        total: the number of jobs at the end of the bar. By default, for ``finished``, the jobs that are in the queue,
            also those that come during the block; for ``added`` it is unknown; give it, such as ``df.count()``, to see
            the percentage and the remaining time.
        every: seconds between two updates.

    Raises:
        InvalidOptionError: an option is wrong.
        ConnectionLostError: Redis cannot be reached at the beginning.
        ImportError: tqdm is missing; ``bullrush[spark]`` has it.
    """
    # Imported here, since only progress bars need it.
    from tqdm import tqdm

    if count not in ("added", "finished"):
        raise InvalidOptionError(f"count must be 'added' or 'finished', not {count!r}")
    counters = _Counters(Address.of_servers(queue, url, urls, prefix))
    counted = _Added(counters, total) if count == "added" else _Finished(counters, total)
    ended, away = threading.Event(), False
    with tqdm(total=counted.total, desc=f"{count} {queue}", unit=" jobs", unit_scale=True) as bar:

        def show() -> None:
            nonlocal away
            try:
                now, away = counters.read(), False
            except BullrushError as error:
                if not away:
                    _log.warning("The progress of queue %s cannot be read: %s", queue, error)
                away = True
                return
            done, bar.total = counted.at(now)
            bar.set_postfix_str(", ".join(f"{now[state]:,} {state}" for state in _SHOWN), refresh=False)
            bar.update(max(0, done - bar.n))
            bar.refresh()

        def watch() -> None:
            while not ended.wait(every):
                show()

        watcher = threading.Thread(target=watch, name="bullrush-progress", daemon=True)
        watcher.start()
        try:
            yield bar
        finally:
            ended.set()
            watcher.join()
            if not away:
                show()


class _Added:
    """Counts what was added, by the queue's counter of ids: each add raises it, whatever became of the job."""

    def __init__(self, counters: _Counters, total: int | None) -> None:
        self._start = counters.start["id"]
        self.total = total

    def at(self, now: Counter[str]) -> tuple[int, int | None]:
        return now["id"] - self._start, self.total


class _Finished:
    """Counts what has finished.

    Finished jobs may be removed, at once or by a rule. Then only the number of open jobs shows the progress.
    """

    def __init__(self, counters: _Counters, total: int | None) -> None:
        self._start = counters.start
        self._given = total
        self._opened = sum(self._start[state] for state in _OPEN)
        self.total = self._opened if total is None else total

    def at(self, now: Counter[str]) -> tuple[int, int | None]:
        still_open = sum(now[state] for state in _OPEN)
        finished = sum(now[state] - self._start[state] for state in _DONE)
        done = max(finished, self.total - still_open)
        if self._given is None:
            self.total = max(self.total, done + still_open)  # jobs may come during the block
        return done, self.total


class _Counters:
    """The number of jobs per state, and of ids, over all servers."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._queues = [
            Queue(address.name, url=address.opened_url(), prefix=address.prefix, timeout=_TIMEOUT_MS)
            for address in addresses
        ]
        self.start = self.read()

    def read(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for queue in self._queues:
            counts.update(queue.get_job_counts(*_OPEN, *_DONE))
            counts["id"] += queue.core.last_id().wait()
        return counts
