"""A cluster of three masters and three replicas. Each node is known to the others by the port of its relay."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redis import RedisError
from redis.crc import key_slot

from tests.faults.proxy import Proxy
from tests.servers.ports import free_port
from tests.waiting import wait_until

from ..server import Server
from .base import Topology
from .sentinel import port_of

MASTERS, SLOTS = 3, 16384
#: ms after which a node that does not answer counts as down.
NODE_TIMEOUT = 4000


class Cluster(Topology):
    name = "cluster"
    queue = "{fleet}"

    def __init__(self, folder: Path, args: Sequence[str] = ()) -> None:
        super().__init__(folder)
        for number in range(2 * MASTERS):
            port = free_port()
            relay = self.relays[f"node-{number}"] = Proxy(port)
            options = {
                "cluster-enabled": "yes",
                "cluster-node-timeout": str(NODE_TIMEOUT),
                "cluster-announce-ip": "127.0.0.1",
                "cluster-announce-port": str(port_of(relay)),
                "cluster-announce-bus-port": str(port + 10_000),
                "cluster-replica-validity-factor": "0",
                # Another slot without a master must not stop this queue.
                "cluster-require-full-coverage": "no",
            }
            words = [word for name, value in options.items() for word in (f"--{name}", value)]
            self.servers.append(Server(folder / f"data-{number}", port, [*args, *words], clock=self.clock))
        self.slot = key_slot(f"bull:{self.queue}:meta".encode())
        self._join()

    def _join(self) -> None:
        first = self.servers[0]
        for number, server in enumerate(self.servers):
            server.client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if number < MASTERS:
                slots = range(SLOTS * number // MASTERS, SLOTS * (number + 1) // MASTERS)
                server.client.execute_command("CLUSTER", "ADDSLOTS", *slots)
            first.client.execute_command("CLUSTER", "MEET", "127.0.0.1", server.port, server.port + 10_000)
        wait_until(lambda: all(self._known(server) == 6 for server in self.servers), "all nodes know each other")
        for number, server in enumerate(self.servers[MASTERS:]):
            replicates = partial(self._replicates, server, self.servers[number])
            wait_until(replicates, "it is a replica", pause=0.1)
        wait_until(self._is_whole, "the cluster is up", seconds=60, pause=0.1)

    @staticmethod
    def _replicates(server: Server, master: Server) -> bool:
        try:
            server.client.execute_command("CLUSTER", "REPLICATE", identity(master))
            return True
        except RedisError:  # it does not know that master yet
            return False

    @staticmethod
    def _known(server: Server) -> int:
        return int(info(server)["cluster_known_nodes"])

    def url(self, relay: str) -> str:
        del relay
        return f"redis+cluster://{','.join(f'127.0.0.1:{port_of(relay)}' for relay in self.relays.values())}"

    def owner_of(self, slot: int) -> Server | None:
        """Return the node that serves a slot, as far as a majority of the living nodes says."""
        votes: list[int] = []
        for server in self.servers:
            if not server.alive:
                continue
            try:
                slots = server.client.execute_command("CLUSTER", "SLOTS")
            except RedisError:
                continue
            votes += [port for port in [_port_of_slot(slots, slot)] if port]
        if not votes:
            return None
        port = max(set(votes), key=votes.count)
        server = self.server_at(port)
        return server if server.alive and server.role() == "master" else None

    def named_master(self) -> int | None:
        owner = self.owner_of(self.slot)
        return owner.port if owner else None

    def server_at(self, port: int) -> Server:
        """Return the node behind the relay on this port."""
        return self.servers[[port_of(relay) for relay in self.relays.values()].index(port)]

    @property
    def master(self) -> Server:
        return wait_until(lambda: self.owner_of(self.slot), "the slot has an owner", seconds=60, pause=0.05)

    def replicas_of(self, master: Server) -> list[Server]:
        """Return the replicas of a node, as they say themselves."""
        port = port_of(self.relays[f"node-{self.servers.index(master)}"])
        found = []
        for server in self.servers:
            try:
                state = server.client.info("replication")
            except RedisError:
                continue
            if state["role"] == "slave" and state.get("master_port") in (port, master.port):
                found.append(server)
        return found

    def settle(self) -> None:
        super().settle()
        wait_until(self._is_whole, "the cluster is whole", seconds=90, pause=0.1)

    def _is_whole(self) -> bool:
        try:
            states = [info(server) for server in self.servers]
            followed = [len(self.replicas_of(server)) for server in self.servers if server.role() == "master"]
        except RedisError:
            return False
        is_up = all(state["cluster_state"] == "ok" and int(state["cluster_slots_ok"]) == SLOTS for state in states)
        owner = self.owner_of(self.slot) if is_up else None
        return owner is not None and len(followed) == MASTERS and bool(self.replicas_of(owner))


def identity(server: Server) -> str:
    return str(server.client.execute_command("CLUSTER", "MYID"))


def info(server: Server) -> dict[str, str]:
    reply = server.client.execute_command("CLUSTER", "INFO")
    return reply if isinstance(reply, dict) else dict(line.split(":") for line in str(reply).split() if ":" in line)


def _port_of_slot(slots: object, slot: int) -> int | None:
    """Return the port of a slot's master, from CLUSTER SLOTS in either form that the client gives it."""
    if isinstance(slots, dict):
        return next((int(one["primary"][1]) for (first, last), one in slots.items() if first <= slot <= last), None)
    assert isinstance(slots, list)
    return next((int(entry[2][1]) for entry in slots if int(entry[0]) <= slot <= int(entry[1])), None)
