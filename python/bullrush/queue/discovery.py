"""Finding the queues of a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bullrush._core import CoreQueue
from bullrush.base.operation import reply, run_blocking
from bullrush.errors import QueueNameError
from bullrush.url import check_url, resolve
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.naming import check_prefix, check_queue_name, check_unicode

_PAGE: Final = 1_000
DEFAULT_TIMEOUT: Final = 10_000
#: No queue: the handle only carries commands.
_ANY_QUEUE: Final = "any"
_END: Final = ":meta"


def queue_names(
    url: str | None = None, prefix: str = "bull", *, timeout: Duration | None = DEFAULT_TIMEOUT
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
    scan = QueueScan(url, prefix, timeout)
    while not scan.ended:
        yield from run_blocking(scan.page())


class QueueScan:
    """A walk through the keys of a server; see `queue_names`."""

    def __init__(self, url: str | None, prefix: str, timeout: Duration | None) -> None:
        self._core = CoreQueue(
            check_unicode("url", resolve(check_url("url", url))),
            check_prefix(prefix),
            _ANY_QUEUE,
            skip_metas_update=True,
            timeout_ms=None if timeout is None else checks.milliseconds("timeout", timeout),
        )
        self._start = f"{prefix}:"
        self._pattern = "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in self._start) + f"*{_END}"
        self._cursor: Any = b"0"
        # SCAN may return a key twice.
        self._seen: set[str] = set()
        self.ended = False

    async def page(self) -> list[str]:
        """Return the names of the next keys that were not found before. It is an operation."""
        # A job scheduler or a job may have a key that ends like this; the names of queues have no colon.
        command = ["SCAN", self._cursor, "MATCH", self._pattern, "COUNT", _PAGE, "TYPE", "hash"]
        ((self._cursor, keys),) = await reply(self._core.commands([command]))
        self.ended = self._cursor == b"0"
        names = {name for key in keys if (name := self._name(key)) is not None}
        new = [name for name in names if name not in self._seen]
        self._seen.update(new)
        return new

    def _name(self, key: bytes) -> str | None:
        """Return the name of the queue that has this key; None if it is no queue that can be opened."""
        try:
            return check_queue_name(key.decode()[len(self._start) : -len(_END)])
        except (UnicodeDecodeError, QueueNameError):
            return None
