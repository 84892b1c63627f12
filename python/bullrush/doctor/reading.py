"""How the doctor asks Redis: short commands in pipelines, so that no other client waits."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from bullrush.errors import RedisServerError
from bullrush.extending import reply
from bullrush.legacy import Users, read_users
from bullrush.queue import Queue
from bullrush.routing import route_base
from bullrush.url import database, resolve

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue, Pending

#: Commands per pipeline, elements per command, and keys per SCAN: a fraction of a millisecond of the server's time, so
#: that also a server that has to wait for a processor meanwhile keeps no other client waiting for long.
BATCH: Final = 1_000
PAGE: Final = 500
#: Pages of a list that are asked for in one round trip.
_PAGES: Final = 4
#: No queue: its handle only carries commands. On a cluster its hash tag decides the node.
ANY_QUEUE: Final = "{doctor}"


class Unchecked:
    """Sends commands, whatever the keys of the handle's own queue are, and whether or not the user may look at them."""

    def __init__(self, core: CoreQueue) -> None:
        """Take the connection."""
        self._core = core

    def commands(
        self, commands: Sequence[Sequence[int | str | bytes]], *, repeatable: bool = True
    ) -> Pending[list[Any]]:
        """Send commands in one pipeline."""
        return self._core.commands(commands, repeatable=repeatable, checked=False)


class Server:
    """One Redis server, or a master of a cluster."""

    url: str
    prefix: str
    timeout: int
    address: str

    def __init__(self, url: str, prefix: str, timeout: int, tag: str = ANY_QUEUE, address: str = "") -> None:
        """Take where the server is.

        Args:
            url: the URL.
            prefix: the prefix of all keys.
            timeout: ms that a round trip may take.
            tag: a name of a queue that does not exist. On a cluster its hash tag decides the node.
            address: the host and port of a master; empty if there is one server only.
        """
        self.url, self.prefix, self.timeout, self.address = url, prefix, timeout, address
        self.queue: Queue = self.handle(tag)
        #: A queue of this server whose rights are looked at, and what the user of the URL is for.
        self.sample = tag
        self.roles: Sequence[str] = ()
        self._info: dict[str, str] | None = None
        self._clients: list[dict[str, str]] | None = None

    def handle(self, name: str, timeout: int | None = None) -> Queue:
        """Return a queue of this server that is not checked, and whose settings are not written."""
        timeout = self.timeout if timeout is None else timeout
        return Queue(name, url=self.url, prefix=self.prefix, timeout=timeout, skip_metas_update=True, allow_legacy=True)

    @property
    def core(self) -> Unchecked:
        """The connection. Its commands may be about the keys of any queue of this server."""
        return Unchecked(self.queue.core)

    async def reach(self, timeout: int) -> None:
        """Look whether it answers within so many ms."""
        # A server that cannot write to its disk refuses PING, too.
        await reply(Unchecked(self.handle(self.queue.name, timeout).core).commands([["TIME"]]))

    async def ask(self, *command: int | str | bytes) -> Any:
        """Return the reply of one command."""
        (answer,) = await reply(self.core.commands([command]))
        return answer

    async def ask_all(self, commands: Sequence[Sequence[int | str | bytes]]) -> list[Any]:
        """Return the replies of many commands."""
        replies: list[Any] = []
        for first in range(0, len(commands), BATCH):
            replies += await reply(self.core.commands(commands[first : first + BATCH]))
        return replies

    async def ask_fields(self, commands: Sequence[Sequence[int | str | bytes]]) -> list[list[Any]]:
        """Return the replies of many HMGETs; None for each field of a key that is no hash."""
        try:
            return await self.ask_all(commands)
        except RedisServerError as error:
            if error.code != "WRONGTYPE":
                raise
        replies: list[list[Any]] = []
        for command in commands:
            try:
                replies.append(await self.ask(*command))
            except RedisServerError:
                replies.append([None] * len(command[2:]))
        return replies

    async def info(self) -> dict[str, str]:
        """Return the lines of INFO by name, asked once."""
        if self._info is None:
            text = (await self.ask("INFO")).decode(errors="replace")
            self._info = {name: value for name, _, value in (line.partition(":") for line in text.splitlines())}
        return self._info

    async def clients(self) -> list[dict[str, str]]:
        """Return the fields of each connection to the server, asked once."""
        if self._clients is None:
            listed = (await self.ask("CLIENT", "LIST")).decode(errors="replace")
            pairs = ([part.partition("=") for part in line.split(" ")] for line in listed.splitlines())
            self._clients = [{name: value for name, _, value in line} for line in pairs]
        return self._clients

    def is_here(self, client: dict[str, str]) -> bool:
        """Tell whether a connection uses the database of the URL."""
        here = str(database(resolve(self.url)))
        return client.get("db", here) == here

    def forget(self) -> None:
        """Ask again for what is asked once."""
        self._info = self._clients = None


@dataclass(frozen=True)
class QueueUnderTest:
    """A queue that is examined.

    Attributes:
        name: its name.
        server: where its keys are.
    """

    name: str
    server: Server
    _users: list[Users] = field(default_factory=list, compare=False, repr=False)

    async def users(self) -> Users:
        """Return whether Bull and BullMQ use it, asked once."""
        if not self._users:
            self._users.append(await read_users(self.queue))
        return self._users[0]

    def key(self, part: str) -> str:
        """Return the key of a part of the queue, or of a job."""
        return f"{self.server.prefix}:{self.name}:{part}"

    @cached_property
    def queue(self) -> Queue:
        """The queue itself, for calls that change it. It does not check whose keys these are."""
        return self.server.handle(self.name)

    async def connected(self, ending: str = "", *, elsewhere: bool = False) -> list[dict[str, str]]:
        """Return the connections of its workers; with the ending ``:qe`` those of its listeners.

        Args:
            ending: what the names of the connections have behind that of the queue.
            elsewhere: those to other databases of the server, where a queue of the same name is another queue.
        """
        plain = f"{self.server.prefix}:{base64.b64encode(self.name.encode()).decode()}{ending}"
        named = [(client, client.get("name", "")) for client in await self.server.clients()]
        found = [client for client, name in named if name == plain or (not ending and name.startswith(f"{plain}:w:"))]
        return [client for client in found if self.server.is_here(client) != elsewhere]

    async def count_workers(self) -> int:
        """Return how many workers take its jobs. Those of a route may be connected as workers of its base."""
        connected = len(await self.connected())
        base = route_base(self.name)
        if base is None:
            return connected
        routes = await QueueUnderTest(base, self.server).routes()
        return routes.get(self.name, connected)

    async def routes(self) -> dict[str, int]:
        """Return how many workers take the jobs of each route of this queue."""
        import orjson

        return {row[0]: row[5] for row in orjson.loads(await reply(self.queue.core.route_status()))}


async def pages_of_list(server: Server, key: str) -> AsyncIterator[list[bytes]]:
    """Yield the elements of a list, some at a time."""
    first, more = 0, True
    while more:
        starts = range(first, first + _PAGES * PAGE, PAGE)
        for page in await server.ask_all([["LRANGE", key, start, start + PAGE - 1] for start in starts]):
            yield page
            more = bool(page)
        first += _PAGES * PAGE


async def pages_of_set(server: Server, key: str | bytes, command: str) -> AsyncIterator[list[bytes]]:
    """Yield the members of a set (SSCAN) or of a sorted set (ZSCAN), some at a time."""
    cursor: Any = b"0"
    while True:
        cursor, page = await server.ask(command, key, cursor, "COUNT", PAGE)
        yield page[::2] if command == "ZSCAN" else page
        if cursor == b"0":
            return


def texts(ids: Iterable[bytes]) -> tuple[str, ...]:
    """Return ids as texts."""
    return tuple(id.decode(errors="replace") for id in ids)
