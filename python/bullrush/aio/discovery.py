"""Finding the queues of a server, without blocking the event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator

from bullrush.base.operation import run_async
from bullrush.queue.discovery import DEFAULT_TIMEOUT, QueueScan
from bullrush.values.checks import Duration


async def queue_names(
    url: str | None = None, prefix: str = "bull", *, timeout: Duration | None = DEFAULT_TIMEOUT
) -> AsyncIterator[str]:
    """Find the queues that have this prefix, as `bullrush.queue.queue_names` does; for ``async for``.

    Args:
        url: the URL of Redis; see `QueueOptions`.
        prefix: the prefix of the queues' keys.
        timeout: ms that a round trip may take.

    Yields:
        The name of each queue, once.
    """
    scan = QueueScan(url, prefix, timeout)
    while not scan.ended:
        for name in await run_async(scan.page()):
            yield name
