"""Finding the queues of a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bullrush._core import CoreQueue
from bullrush.base.operation import reply, run_blocking
from bullrush.url import check_url, resolve
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.naming import check_prefix, check_unicode

_PAGE: Final = 1_000
_DEFAULT_TIMEOUT: Final = 10_000
#: No queue: the handle only carries commands.
_ANY_QUEUE: Final = "any"
_END: Final = ":meta"


def queue_names(
    url: str | None = None, prefix: str = "bull", *, timeout: Duration | None = _DEFAULT_TIMEOUT
) -> Iterator[str]:
    """Find the queues that have this prefix, in no particular order.

    A queue is found by its key ``<prefix>:<queue>:meta``, which every client of BullMQ writes.

    Args:
        url: the URL of Redis; see `QueueOptions`.
        prefix: the prefix of the queues' keys.
        timeout: ms that a round trip may take.

    Yields:
        The name of each queue, once.

    Redis:
        SCAN over the whole database, 1,000 keys per round trip. Redis serves other clients in between.
    """
    core = CoreQueue(
        check_unicode("url", resolve(check_url("url", url))),
        check_prefix(prefix),
        _ANY_QUEUE,
        skip_metas_update=True,
        timeout_ms=None if timeout is None else checks.milliseconds("timeout", timeout),
    )
    start = f"{prefix}:"
    pattern = "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in start) + f"*{_END}"
    # SCAN may return a key twice.
    seen: set[str] = set()
    cursor: Any = b"0"
    while True:
        # A job scheduler or a job may have a key that ends like this; the names of queues have no colon.
        command = ["SCAN", cursor, "MATCH", pattern, "COUNT", _PAGE, "TYPE", "hash"]
        ((cursor, keys),) = run_blocking(_replies(core, [command]))
        for key in keys:
            name = key.decode(errors="replace")[len(start) : -len(_END)]
            if name and ":" not in name and name not in seen:
                seen.add(name)
                yield name
        if cursor == b"0":
            return


async def _replies(core: CoreQueue, commands: list[list[Any]]) -> list[Any]:
    return await reply(core.commands(commands))
