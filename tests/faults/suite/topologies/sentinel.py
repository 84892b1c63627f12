"""Three sentinels, a master and two replicas. Each server is known to the others by the port of its relay."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from redis import Redis, RedisError

from bullrush.embedded.binary import find_server
from tests.driver.spawn import spawn
from tests.faults.proxy import Proxy
from tests.servers.ports import free_port
from tests.waiting import wait_until

from ..server import Server
from .base import Topology

MASTER = "main"
#: ms after which a server that does not answer counts as down. Less is too little on a machine with much else to do.
DOWN_AFTER = 4000


class Sentinel(Topology):
    name = "sentinel"

    def __init__(self, folder: Path, args: Sequence[str] = ()) -> None:
        super().__init__(folder)
        self._processes: list[subprocess.Popen[bytes]] = []
        for number in range(3):
            port = free_port()
            relay = self.relays[f"server-{number}"] = Proxy(port)
            options = [*args, "--replica-announce-ip", "127.0.0.1", "--replica-announce-port", str(port_of(relay))]
            if number:
                options += ["--replicaof", "127.0.0.1", str(port_of(self.relays["server-0"]))]
            self.servers.append(Server(folder / f"data-{number}", port, options, clock=self.clock))
        wait_until(lambda: self.servers[0].client.info("replication")["connected_slaves"] == 2, "two replicas follow")
        self.ports = [self._start_sentinel(number) for number in range(3)]
        self.clients = [Redis(port=port, decode_responses=True, socket_timeout=5) for port in self.ports]
        wait_until(self._all_is_known, "the sentinels know all replicas and each other", seconds=60, pause=0.1)

    def _start_sentinel(self, number: int) -> int:
        port, folder = free_port(), self.folder / f"sentinel-{number}"
        folder.mkdir()
        config = folder / "sentinel.conf"
        config.write_text(
            f"port {port}\nbind 127.0.0.1\ndir {folder}\nsentinel monitor {MASTER} 127.0.0.1 "
            f"{port_of(self.relays['server-0'])} 2\n"
            f"sentinel down-after-milliseconds {MASTER} {DOWN_AFTER}\nsentinel failover-timeout {MASTER} 5000\n"
            f"sentinel parallel-syncs {MASTER} 2\n"
        )
        with open(folder / "log", "wb") as log:
            command = [find_server()[0], str(config), "--sentinel"]
            self._processes.append(spawn(command, stdout=log, stderr=log))
        return port

    def _all_is_known(self) -> bool:
        try:
            states = [client.execute_command("SENTINEL", "MASTER", MASTER) for client in self.clients]
        except RedisError:
            return False
        return all(
            int(state["num-slaves"]) == 2 and int(state["num-other-sentinels"]) == 2 for state in map(pairs, states)
        )

    def url(self, relay: str) -> str:
        del relay
        return f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in self.ports)}/{MASTER}/0"

    def _master_now(self) -> Server | None:
        masters = [server for server in self.servers if server.alive and server.role() == "master"]
        if len(masters) == 1:
            return masters[0]
        with suppress(RedisError):
            address = self.clients[0].execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)
            return self.server_at(int(address[1]))
        return None

    @property
    def master(self) -> Server:
        return wait_until(self._master_now, "there is a master", seconds=60, pause=0.05)

    def named_master(self) -> int | None:
        try:
            return int(self.clients[-1].execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)[1])
        except (RedisError, TypeError):
            return None

    def port_of_another(self, old: Server) -> int | None:
        """Return the port of the master that the sentinels name, None while it is this one, or not yet a master."""
        address = self.clients[0].execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)
        server = self.server_at(int(address[1]))
        return int(address[1]) if server is not old and server.role() == "master" else None

    def server_at(self, port: int) -> Server:
        """Return the server behind the relay on this port."""
        names = [name for name, relay in self.relays.items() if port_of(relay) == port]
        return self.servers[int(names[0].rpartition("-")[2])]

    def settle(self) -> None:
        super().settle()
        wait_until(self._is_whole, "one master has two replicas", seconds=90, pause=0.1)

    def _is_whole(self) -> bool:
        try:
            roles = [server.role() for server in self.servers]
            if sorted(map(str, roles)) != ["master", "slave", "slave"]:
                return False
            master = self.servers[roles.index("master")]
            address = self.clients[0].execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)
            return (
                self.server_at(int(address[1])) is master and master.client.info("replication")["connected_slaves"] == 2
            )
        except RedisError:
            return False

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        for client in getattr(self, "clients", []):
            client.close()
        super().close()


def port_of(relay: Proxy) -> int:
    return int(relay.url.rsplit(":", 1)[1].split("/")[0])


def pairs(reply: object) -> dict[str, str]:
    """Return the reply of SENTINEL MASTER as a dict, whichever form the client gives it."""
    if isinstance(reply, dict):
        return {str(name): str(value) for name, value in reply.items()}
    assert isinstance(reply, list)
    return dict(zip(reply[::2], reply[1::2], strict=True))
