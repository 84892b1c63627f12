"""``--check``: says what would run, and whether Redis can be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bullrush.cli.terminal.ending import FAILED, NO_REDIS, CommandError, code_of
from bullrush.cli.terminal.output import compact, say, write
from bullrush.cli.worker.ending import ENDED
from bullrush.cli.worker.targets import AnyWorker
from bullrush.errors import BullrushError, RedisServerError
from bullrush.extending import missing_rights_text, monitored_queue, reply, run_blocking
from bullrush.queue import Queue
from bullrush.rights import read_roles

_TIMEOUT_MS: Final = 3_000


def check(workers: Sequence[AnyWorker]) -> int:
    """Connect to every queue, print a line for each, and return the exit code.

    No job is taken, and nothing is changed.
    """
    code = ENDED
    for worker in workers:
        queues = [monitored_queue(worker, name, _TIMEOUT_MS) for name in worker.queue_names]
        try:
            _check(worker, queues)
        except (BullrushError, CommandError) as error:
            say(f"{worker!r}: {error}")
            code = code_of(error)
        else:
            has = "" if worker.profile is None else f", profile {compact(worker.profile)}"
            write(f"{worker!r}: ready, concurrency {worker.concurrency}{has}, Redis {queues[0].redis_version}")
    return code


def _check(worker: AnyWorker, queues: Sequence[Queue]) -> None:
    """Look whether a worker could use its queues.

    Raises:
        BullrushError: Redis or a queue cannot be used.
        CommandError: the server is a replica, or the user lacks rights.
    """
    refusal = None
    try:
        for queue in queues:
            queue.wait_until_ready()
    except RedisServerError as error:
        if error.code != "NOPERM":
            raise
        refusal = error
    if missing := sorted({right for queue in queues for right in run_blocking(_missing_rights(queue))}):
        raise CommandError(missing_rights_text(worker, missing), FAILED)
    if refusal is not None:
        raise refusal
    if run_blocking(_is_replica(queues[0])):
        raise CommandError("the server is a replica, which refuses to write", NO_REDIS)
    for queue in queues:
        run_blocking(_attempt_write(queue))


async def _missing_rights(queue: Queue) -> list[str]:
    """Return what a worker needs and the user of the URL may not do; nothing if that is not known."""
    try:
        return await reply(queue.core.missing_rights(read_roles()["worker"].needed))
    except RedisServerError:
        return []


async def _attempt_write(queue: Queue) -> None:
    """Raise the error with which the server refuses all writes of a worker now, such as ``OOM``."""
    await reply(queue.core.attempt_write())


async def _is_replica(queue: Queue) -> bool:
    """Tell whether the server only reads; False if this user may not ask."""
    try:
        return await reply(queue.core.is_replica())
    except RedisServerError:
        return False
