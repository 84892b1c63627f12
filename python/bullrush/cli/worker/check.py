"""``--check``: says what would run, and whether Redis can be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bullrush.cli.terminal.ending import code_of
from bullrush.cli.terminal.output import say, write
from bullrush.cli.worker.ending import ENDED
from bullrush.cli.worker.targets import AnyWorker
from bullrush.errors import BullrushError

_TIMEOUT_MS: Final = 3_000


def check(workers: Sequence[AnyWorker]) -> int:
    """Connect to every queue, print a line for each, and return the exit code. Nothing is written or taken."""
    code = ENDED
    for worker in workers:
        queue = worker.monitored_queue(_TIMEOUT_MS)
        try:
            queue.wait_until_ready()
        except BullrushError as error:
            say(f"{worker!r}: {error}")
            code = code_of(error)
        else:
            write(f"{worker!r}: ready, concurrency {worker.concurrency}, Redis {queue.redis_version}")
    return code
