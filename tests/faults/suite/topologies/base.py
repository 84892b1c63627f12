"""What every topology offers to the faults."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from redis import Redis, RedisError

from tests.faults.proxy import Proxy

from ..clock import Clock
from ..server import Server

#: Some of them wait for an election.
SECONDS = 60


class Topology(ABC):
    """Servers, each behind a relay that breaks connections."""

    name: str
    #: A hash tag where a queue must live in one slot.
    queue = "fleet"

    def __init__(self, folder: Path, args: Sequence[str] = ()) -> None:
        del args  # those of the servers
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.clock = Clock(folder / "servers.clock")
        self.servers: list[Server] = []
        #: By name; processes choose one where the topology lets them.
        self.relays: dict[str, Proxy] = {}

    @abstractmethod
    def url(self, relay: str) -> str:
        """Return the URL for a process that uses this relay."""

    @property
    @abstractmethod
    def master(self) -> Server:
        """The server that has the queue now."""

    @property
    def redis(self) -> "Redis[str]":
        """A client of the master."""
        return self.master.client

    def named_master(self) -> int | None:
        """Return the port of the server that all have to use for the queue, None if nobody names one now."""
        return self.servers[0].port

    def settle(self) -> None:
        """Wait until the topology is whole again: all servers run, and one of them has the queue."""
        for server in self.servers:
            server.go_on()
            server.start()

    def close(self) -> None:
        for relay in self.relays.values():
            with suppress(Exception):
                relay.__exit__()
        for server in self.servers:
            server.go_on()
            server.kill()
            server.client.close()
        self.clock.close()

    def retried(self, function: Callable[["Redis[str]"], Any], seconds: float = SECONDS) -> Any:
        """Call a function with a client of the master until it is not refused: the suite itself meets the faults."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return function(self.redis)
            # ValueError: another thread has closed this connection, when it killed the server.
            except (RedisError, OSError, LookupError, ValueError) as error:
                if time.monotonic() > deadline:
                    raise
                del error
                time.sleep(0.05)
