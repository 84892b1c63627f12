"""``--check``: says what would run, and whether Redis can be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bullrush.base.operation import reply, run_blocking
from bullrush.cli.terminal.ending import NO_REDIS, code_of
from bullrush.cli.terminal.output import compact, say, write
from bullrush.cli.worker.ending import ENDED
from bullrush.cli.worker.targets import AnyWorker
from bullrush.errors import BullrushError, RedisServerError
from bullrush.queue import Queue

_TIMEOUT_MS: Final = 3_000


def check(workers: Sequence[AnyWorker]) -> int:
    """Connect to every queue, print a line for each, and return the exit code. Nothing is written or taken."""
    code = ENDED
    for worker in workers:
        queues = worker.monitored_queues(_TIMEOUT_MS)
        try:
            for queue in queues:
                queue.wait_until_ready()
            replica = run_blocking(_is_replica(queues[0]))
        except BullrushError as error:
            say(f"{worker!r}: {error}")
            code = code_of(error)
            continue
        if replica:
            say(f"{worker!r}: the server is a replica, which refuses to write")
            code = NO_REDIS
        else:
            has = "" if worker.profile is None else f", profile {compact(worker.profile)}"
            write(f"{worker!r}: ready, concurrency {worker.concurrency}{has}, Redis {queues[0].redis_version}")
    return code


async def _is_replica(queue: Queue) -> bool:
    """Tell whether the server only reads; False if this user may not ask."""
    try:
        [text] = await reply(queue.core.commands([["INFO", "replication"]]))
    except RedisServerError:
        return False
    return b"role:slave" in text
