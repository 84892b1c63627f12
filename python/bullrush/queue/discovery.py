"""Finding the queues of a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Final, NamedTuple

from bullrush._core import CoreQueue, key_slot
from bullrush.base.operation import reply, run_blocking
from bullrush.errors import QueueNameError
from bullrush.url import check_url, is_cluster, resolve
from bullrush.values import checks
from bullrush.values.checks import Duration
from bullrush.values.encoding import encode
from bullrush.values.naming import check_prefix, check_queue_name, check_unicode

_PAGE: Final = 1_000
DEFAULT_TIMEOUT: Final = 10_000
#: No queue: the handle only carries commands. On a cluster a queue needs a hash tag.
_ANY_QUEUE: Final = "{any}"


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
        SCAN over the whole database, on a cluster that of each master in turn; 1,000 keys per round trip. Redis serves
        other clients in between.
    """
    scan = QueueScan(url, prefix, timeout)
    while not scan.ended:
        yield from run_blocking(scan.page())


class Master(NamedTuple):
    """A master of a cluster.

    Attributes:
        address: its host and port, as the cluster names them.
        slots: what it has.
    """

    address: str
    slots: Sequence[range]

    def has(self, key: str) -> bool:
        """Tell whether a key is there."""
        slot = key_slot(key)
        return any(slot in part for part in self.slots)

    @property
    def tag(self) -> str:
        """A hash tag that is there."""
        return next(tag for number in count() if self.has(tag := f"{{{number}}}"))


async def find_masters(core: CoreQueue, *, checked: bool = True) -> list[Master]:
    """Ask a cluster for its masters that have slots; awaited inside an operation."""
    found = await reply(core.masters(checked=checked))
    return [Master(address, [range(first, last + 1) for first, last in parts]) for address, parts in found]


class QueueScan:
    """A walk through the keys of a server; see `queue_names`.

    ``size``: how many keys are read per round trip. ``servers``: where; by default on the servers that the URL leads
    to. They are not checked then.
    ``ends``: how the keys end by which a queue is found. ``kind``: the type of these keys; None = any, so that queues
    are found, too, whose key is broken. ``nested``: only names with a colon are found, which BullMQ does not have.
    """

    def __init__(
        self,
        url: str | None,
        prefix: str,
        timeout: Duration | None,
        *,
        size: int = _PAGE,
        servers: Sequence[CoreQueue] | None = None,
        ends: Sequence[str] = (":meta",),
        kind: str | None = "hash",
        nested: bool = False,
    ) -> None:
        self._url = check_unicode("url", resolve(check_url("url", url)))
        self._prefix = check_prefix(prefix)
        self._timeout = None if timeout is None else checks.milliseconds("timeout", timeout)
        self._servers: list[CoreQueue] | None = None if servers is None else list(servers)
        self._checked = servers is None
        self._start = f"{prefix}:"
        self._size = size
        self._ends = tuple(ends)
        self._kind = kind
        self._nested = nested
        self._cursor = 0
        # SCAN may return a key twice.
        self._seen: set[str] = set()
        #: Keys of queues whose names cannot be used here, such as those with control characters.
        self.strange: set[bytes] = set()
        #: Whether some key has a name with a colon: it is of a queue of Bull, of a job or of a scheduler.
        self.saw_nested: bool = False
        self.ended: bool = self._servers == []

    async def page(self) -> list[str]:
        """Return the names of the next keys that were not found before. It is an operation."""
        # A job scheduler or a job may have a key that ends like this; the names of queues have no colon.
        if self._servers is None:
            self._servers = await self._find_servers()
        scan = self._servers[0].scan_queues(
            self._cursor, self._size, _common_end(self._ends), kind=self._kind, checked=self._checked
        )
        self._cursor, keys = await reply(scan)
        if self._cursor == 0:
            self._servers.pop(0)
        self.ended = not self._servers
        names = {name for key in keys if (name := self._name(key)) is not None}
        new = [name for name in names if name not in self._seen]
        self._seen.update(new)
        return new

    async def _find_servers(self) -> list[CoreQueue]:
        """Return a handle on each server that may have such queues."""
        server = self._server(_ANY_QUEUE)
        has_tag = key_slot(f"{self._start}a") == key_slot(f"{self._start}b")
        if not is_cluster(self._url) or has_tag:
            return [server]
        return [self._server(master.tag) for master in await find_masters(server)]

    def _server(self, queue: str) -> CoreQueue:
        """Return a handle on the server that has the keys of a queue."""
        options = encode({"skip_metas_update": True, "timeout": self._timeout}, "options")
        return CoreQueue(self._url, self._prefix, queue, options)

    def _name(self, key: bytes) -> str | None:
        """Return the name of the queue that has this key; None if it is no queue that can be opened."""
        end = next((end for end in self._ends if key.endswith(end.encode())), None)
        if end is None:
            return None
        try:
            name = key.decode()[len(self._start) : -len(end)]
        except UnicodeDecodeError:
            self.strange.add(key)
            return None
        if ":" in name:
            self.saw_nested = True
            return name if self._nested else None
        try:
            return None if self._nested else check_queue_name(name)
        except QueueNameError:
            self.strange.add(key)
            return None


def _common_end(ends: Sequence[str]) -> str:
    """Return a pattern that keys with one of these ends match, and few others."""
    shortest = min(map(len, ends))
    places = zip(*(end[-shortest:] for end in ends), strict=True)
    return "".join(letters[0] if len(set(letters)) == 1 else f"[{''.join(letters)}]" for letters in places)
