"""A progress bar for the jobs of a queue, read from Redis. It works with any session and in any program."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

from bullrush.queue.queue import Queue
from bullrush.spark.address import Address

if TYPE_CHECKING:
    from tqdm import tqdm

_OPEN: Final = ("waiting", "paused", "prioritized", "delayed", "active", "waiting-children")
_DONE: Final = ("completed", "failed")


@contextmanager
def progress(
    queue: str,
    *,
    url: str | None = None,
    prefix: str | None = None,
    count: Literal["added", "finished"] = "finished",
    total: int | None = None,
    every: float = 0.5,
) -> Iterator[tqdm[None]]:
    """Show a progress bar of a queue during the block: rate, remaining time, and the number of jobs per state.

    Args:
        queue: the queue's name.
        url: the URL of Redis for this process.
        prefix: the prefix of the queue's keys, ``bull`` by default.
        count: which jobs the bar counts: those that finish, or those that are added.
        total: the number of jobs at the end of the bar; for ``finished`` by default the number of jobs in the queue
            now.
        every: seconds between two updates.

    Raises:
        ImportError: tqdm is missing; ``bullrush[spark]`` has it.
    """
    # Imported here, since only progress bars need it.
    from tqdm import tqdm

    counters = _Counters(Address.on_driver(queue, url, prefix).open())
    start = counters.read()
    opened = sum(start[state] for state in _OPEN)
    if total is None and count == "finished":
        total = opened
    done = threading.Event()
    with tqdm(total=total, desc=f"{count} {counters.queue.name}", unit=" jobs", unit_scale=True) as bar:

        def show() -> None:
            now = counters.read()
            open_, finished = sum(now[s] for s in _OPEN), sum(now[s] - start[s] for s in _DONE)
            # Finished jobs may be removed at once. Then only the number of open jobs shows the progress.
            moved = open_ + finished - opened if count == "added" else max(finished, (total or 0) - open_)
            shown = (f"{now[state]:,} {state}" for state in ("waiting", "active", *_DONE))
            bar.set_postfix_str(", ".join(shown), refresh=False)
            bar.update(max(0, moved - bar.n))

        def watch() -> None:
            while not done.wait(every):
                show()

        watcher = threading.Thread(target=watch, name="bullrush-progress", daemon=True)
        watcher.start()
        try:
            yield bar
        finally:
            done.set()
            watcher.join()
            show()


class _Counters:
    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    def read(self) -> dict[str, int]:
        return self.queue.get_job_counts(*_OPEN, *_DONE)
