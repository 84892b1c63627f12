"""The address of a queue, which is sent from the driver to the executors."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from bullrush.errors import BullrushError, InvalidOptionError
from bullrush.masking import masked
from bullrush.queue import Queue, QueueOptions
from bullrush.url import resolve

#: ms in which Redis must answer the driver before tasks start.
_TIMEOUT: Final = 3_000


@dataclass(frozen=True)
class Address:
    """The address of one queue, with which another machine can open it.

    Attributes:
        name: the queue's name.
        url: a Redis URL; or ``env:NAME`` or ``file:/path``, which are read where the queue is opened, so that no
            password is sent with the code.
        prefix: the prefix of the queue's keys.
    """

    name: str
    url: str = field(repr=False)
    prefix: str

    @classmethod
    def on_driver(cls, queue: str, url: str | None, prefix: str | None) -> Address:
        """Return the address of a queue, for a call on the driver.

        The driver resolves what the executors cannot: its environment variables, and an embedded server, which it
        starts.
        """
        indirect = url is not None and url.startswith(("env:", "file:"))
        return cls(queue, str(url) if indirect else resolve(url), prefix or "bull")

    @classmethod
    def of_servers(
        cls, queue: str, url: str | None, urls: Sequence[str] | None, prefix: str | None
    ) -> tuple[Address, ...]:
        """Return the addresses of a queue on one server or on several, for a call on the driver.

        Raises:
            InvalidOptionError: both ``url`` and ``urls`` are given, or ``urls`` is empty or has a server twice.
        """
        if urls is None:
            return (cls.on_driver(queue, url, prefix),)
        if url is not None:
            raise InvalidOptionError("Give url for one server, or urls for several, not both")
        if isinstance(urls, str) or not urls:
            raise InvalidOptionError("urls is a list of the URLs of Redis servers, at least one")
        addresses = tuple(cls.on_driver(queue, given, prefix) for given in urls)
        servers = [address.server for address in addresses]
        if twins := [server for server in servers if servers.count(server) > 1]:
            raise InvalidOptionError(f"The server {twins[0]} is in urls twice")
        return addresses

    def at(self, name: str) -> Address:
        """Return the address of another queue beside this one, such as a route of it."""
        return replace(self, name=name)

    @property
    def server(self) -> str:
        """The server's host, port and database, without a password; ``env:NAME`` and ``file:/path`` as they are."""
        if self.url.startswith(("env:", "file:")):
            return self.url
        return masked(self.url).partition("?")[0].rpartition("://")[2].rpartition("@")[2]

    @property
    def qualified_name(self) -> str:
        """The prefix and the name of the queue, as in the names of its keys."""
        return f"{self.prefix}:{self.name}"

    def is_known_here(self) -> bool:
        """Tell whether this machine knows the URL: ``env:`` and ``file:`` may mean something on the executors only."""
        try:
            self.opened_url()
        except InvalidOptionError:
            return False
        return True

    def opened_url(self) -> str:
        """Return the Redis URL on this machine.

        Raises:
            InvalidOptionError: the environment variable or the file does not exist.
        """
        kind, _, place = self.url.partition(":")
        if kind == "env":
            if not (found := os.environ.get(place)):
                raise InvalidOptionError(f"The environment variable {place} is not set on {_machine()}")
            return found
        if kind == "file":
            path = Path(place.removeprefix("//"))
            try:
                return path.read_text().strip()
            except OSError as error:
                raise InvalidOptionError(f"No Redis URL in {path} on {_machine()}: {error.strerror}") from None
        return self.url

    def open(
        self,
        *,
        timeout: int | None = None,
        adds: bool = False,
        durable: bool | Literal["replica", "aof"] = False,
    ) -> Queue:
        """Return the queue. All queues of a process and a URL share their connections, also from task to task.

        Args:
            timeout: ms that a round trip may take, connecting included; None is that of `Queue`.
            adds: jobs are added, so the queue gets its settings as from any producer. Who only reads or works leaves
                the settings as they are, such as the length of the event stream.
            durable: whether calls that add jobs wait until these are durable, as for `Queue`.
        """
        options: QueueOptions = {
            "url": self.opened_url(),
            "prefix": self.prefix,
            "skip_metas_update": not adds,
            "durable": durable,
        }
        if timeout is not None:
            options["timeout"] = timeout
        return Queue(self.name, **options)

    def open_on_driver(self) -> Queue:
        """Return the queue when Redis has answered, within 3 seconds.

        Raises:
            InvalidOptionError: the URL cannot be used.
            ConnectionLostError, RedisServerError: Redis cannot be reached, or refuses the password.
        """
        queue = self.open(timeout=_TIMEOUT)
        try:
            queue.wait_until_ready()
        except BaseException:
            queue.close()
            raise
        return queue


def check_redis(addresses: Sequence[Address], *, in_stream: bool = False) -> None:
    """Check on the driver that each server can be used. Servers that only the executors know are left to them.

    Args:
        addresses: the servers.
        in_stream: check only the form of the URLs: the tasks of a stream wait for Redis and are repeated.

    Raises:
        InvalidOptionError: a URL cannot be used.
        ConnectionLostError, RedisServerError: Redis cannot be reached, or refuses the password.
    """
    for place, address in enumerate(addresses):
        if address.is_known_here():
            with NamingServer(addresses, place):
                (address.open() if in_stream else address.open_on_driver()).close()


def _machine() -> str:
    try:
        from pyspark import TaskContext
    except ImportError:
        return "this machine"
    return "this machine" if TaskContext.get() is None else "an executor"


class NamingServer:
    """Adds the server to the text of an error inside the block, if there are several."""

    def __init__(self, addresses: Sequence[Address], place: int) -> None:
        self._server = addresses[place].server if len(addresses) > 1 else None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._server and isinstance(error, BullrushError):
            error.args = (*error.args[:-1], f"{error.args[-1]} (server {self._server})")
