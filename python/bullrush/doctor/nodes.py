"""Where the queues are: on one server, or on the masters of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bullrush.doctor.reading import ANY_QUEUE, QueueUnderTest, Server
from bullrush.errors import ConnectionLostError
from bullrush.extending import Master, find_masters, key_slot
from bullrush.url import is_cluster, resolve

#: Their slots are far from each other.
_TAGS: Final = ("{3}", "{2}", "{1}", "{0}")
#: ms for each of them, if the timeout has so many.
_LEAST_TIMEOUT: Final = 1_000


class Nodes:
    """The servers that are examined."""

    def __init__(self, url: str | None, prefix: str, timeout: int) -> None:
        """Take where the queues are."""
        self._url, self._prefix, self._timeout = resolve(url), prefix, timeout
        #: The URL is that of a cluster.
        self.is_cluster: Final = is_cluster(self._url)
        self._any = Server(self._url, prefix, timeout)
        self._masters: dict[Server, Master] = {}
        self._left_out: set[Server] = set()

    @property
    def servers(self) -> Sequence[Server]:
        """The one server of the URL; of the URL of a cluster all masters that may have queues of the prefix."""
        if not self.is_cluster:
            return [self._any]
        return [server for server in self._masters if server not in self._left_out]

    @property
    def node_timeout(self) -> int:
        """How many ms one node of a cluster may take to answer."""
        return max(self._timeout // len(_TAGS), min(self._timeout, _LEAST_TIMEOUT))

    async def find(self) -> None:
        """Ask which servers there are, and forget what they have said."""
        self._any.forget()
        self._left_out.clear()
        if self.is_cluster:
            masters = await self._find_masters()
            if self._is_one_slot:
                masters = [master for master in masters if master.has(f"{self._prefix}:")]
            self._masters = {self._server(master): master for master in masters}

    async def _find_masters(self) -> list[Master]:
        """Ask the master of any slot; another one if that does not answer."""
        if self._is_one_slot:
            return await find_masters(self._any.queue.core, checked=False)
        for tag in _TAGS[:-1]:
            try:
                return await find_masters(self._any_in(tag).queue.core, checked=False)
            except ConnectionLostError:
                continue
        return await find_masters(self._any_in(_TAGS[-1]).queue.core, checked=False)

    def _any_in(self, tag: str) -> Server:
        """Return the URL as the server of a slot. It has the time of one node to answer."""
        return Server(self._url, self._prefix, self.node_timeout, tag)

    def leave_out(self, server: Server) -> None:
        """Take a server out, since it does not answer."""
        self._left_out.add(server)

    async def count_others(self) -> int:
        """Return how many masters of a cluster the URL of one node does not lead to."""
        return len(await find_masters(self._any.queue.core, checked=False)) - 1

    def tested(self, name: str) -> QueueUnderTest | None:
        """Return a queue at its server; None if that does not answer."""
        if not self.is_cluster:
            return QueueUnderTest(name, self._any)
        key = f"{self._prefix}:{name}:"
        return next((QueueUnderTest(name, server) for server in self.servers if self._masters[server].has(key)), None)

    def is_scattered(self, name: str) -> bool:
        """Tell whether a cluster would have the keys of a queue in several slots."""
        return key_slot(f"{self._prefix}:{name}:a") != key_slot(f"{self._prefix}:{name}:b")

    @property
    def _is_one_slot(self) -> bool:
        """The prefix has a hash tag: all queues are in one slot."""
        return key_slot(f"{self._prefix}:a") == key_slot(f"{self._prefix}:b")

    def _server(self, master: Master) -> Server:
        tag = ANY_QUEUE if self._is_one_slot else master.tag
        return Server(self._url, self._prefix, self._timeout, tag, master.address)
