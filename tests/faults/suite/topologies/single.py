"""One server with an append-only file, and several relays, so that a fault can cut off some processes only."""

from collections.abc import Sequence
from pathlib import Path

from tests.faults.proxy import Proxy
from tests.servers.ports import free_port

from ..server import Server
from .base import Topology


class Single(Topology):
    name = "single"

    def __init__(self, folder: Path, args: Sequence[str] = ()) -> None:
        super().__init__(folder)
        self.servers = [Server(folder / "data", free_port(), args, clock=self.clock)]
        self.relays = {name: Proxy(self.master.port) for name in ("ours", "both", "producers", "odd")}

    def url(self, relay: str) -> str:
        return self.relays[relay].url

    @property
    def master(self) -> Server:
        return self.servers[0]
