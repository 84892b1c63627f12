"""A Redis Cluster on loopback: three masters, each with a replica."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from redis import Redis
from redis.crc import key_slot
from redis.exceptions import RedisError

from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

from .ports import BUS, free_port

SLOTS = 16384


class Node:
    """One server of a cluster.

    Args:
        folder: where it keeps `nodes.conf`, and nothing else.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = (uuid.uuid4().hex * 2)[:40]
        self.port = free_port()

    def __repr__(self) -> str:
        return f"Node({self.port})"

    def start(self, lines: list[str], timeout: int) -> None:
        """Start it as a member of a cluster.

        Args:
            lines: what `nodes.conf` says about all nodes.
            timeout: ms without an answer after which a node has failed.
        """
        self.folder.mkdir(parents=True)
        own = [line.replace(" master ", " myself,master ").replace(" slave ", " myself,slave ") for line in lines]
        mine = [own[at] if line.startswith(self.id) else line for at, line in enumerate(lines)]
        (self.folder / "nodes.conf").write_text("\n".join([*mine, "vars currentEpoch 10 lastVoteEpoch 0", ""]))
        args = ["--cluster-enabled", "yes", "--cluster-node-timeout", str(timeout), "--repl-diskless-sync-delay", "0"]
        self.server = EmbeddedRedis(self.folder, port=self.port, password="", persistence=False, args=args)

    @cached_property
    def redis(self) -> Redis:
        """A plain client of this node."""
        return Redis(port=self.port, decode_responses=True, socket_timeout=5)

    def say(self, *words: Any) -> Any:
        """Run a command on this node."""
        return self.redis.execute_command(*words)

    def is_master(self) -> bool:
        """Return whether it runs and is a master."""
        with suppress(RedisError):
            return bool(self.say("ROLE")[0] == "master")
        return False

    def slots(self) -> set[int]:
        """Return the slots that it says that it has."""
        ranges = self.say("CLUSTER", "SLOTS")
        return {slot for first, last, owner, *_ in ranges if owner[1] == self.port for slot in range(first, last + 1)}

    def kill(self) -> None:
        """End it like a crash. Its data is gone."""
        self.server.kill()

    def restart(self) -> None:
        """Start it again; it knows its cluster."""
        self.server.restart()

    def stop(self) -> None:
        self.redis.close()
        self.server.stop()


class Cluster:
    """Three masters with a third of the slots each, and a replica of each.

    Args:
        folder: where the nodes keep their `nodes.conf`.
        timeout: ms without an answer after which a node has failed.
    """

    def __init__(self, folder: Path, timeout: int = 2_000) -> None:
        self.timeout = timeout
        self.nodes = [Node(folder / f"node-{number}") for number in range(6)]
        lines = []
        for number, node in enumerate(self.nodes):
            first, last = number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1
            role = f"master - 0 0 {number + 1} connected {first}-{last}"
            if number >= 3:
                role = f"slave {self.nodes[number - 3].id} 0 0 {number - 2} connected"
            lines.append(f"{node.id} 127.0.0.1:{node.port}@{node.port + BUS} {role}")
        with ExitStack() as started:
            for node in self.nodes:
                node.start(lines, timeout)
                started.callback(node.stop)
            self.wait_until_up()
            started.pop_all()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_exception: object) -> None:
        for node in self.nodes:
            node.stop()

    @property
    def url(self) -> str:
        """The URL with two nodes, one of which is always a replica at first."""
        return f"redis+cluster://127.0.0.1:{self.nodes[0].port},127.0.0.1:{self.nodes[5].port}"

    def shard(self, number: int) -> Node:
        """Return the master of a third of the slots; each third has two nodes that take turns."""
        return wait_until(lambda: next(filter(Node.is_master, self.nodes[number::3]), None), "it has a master")

    def masters(self) -> list[Node]:
        return [node for node in self.nodes if node.is_master()]

    def owner(self, key: str) -> Node:
        """Return the master that says that it has the slot of a key."""
        slot = key_slot(key.encode())
        return wait_until(
            lambda: next((node for node in self.masters() if slot in node.slots()), None), "it has an owner"
        )

    def replicas_of(self, master: Node) -> list[Node]:
        return [node for node in self.nodes if _master_of(node) == master.port]

    def wait_until_up(self) -> None:
        """Wait until all nodes see a whole cluster, and each master has a replica that is in sync."""
        for node in self.nodes:
            wait_until(lambda node=node: "cluster_state:ok" in node.say("CLUSTER", "INFO"), f"{node} is up")
        for node in self.nodes:
            wait_until(lambda node=node: node.is_master() or _is_in_sync(node), f"{node} is in sync")

    def key(self, prefix: str, node: Node) -> str:
        """Return a hash tag with this prefix whose slot a node has, such as ``{prefix-7}``."""
        slots = node.slots()
        return next(tag for n in range(10_000) if key_slot((tag := f"{{{prefix}-{n}}}").encode()) in slots)

    @contextmanager
    def migrating(self, key: str, to: Node) -> Iterator["Migration"]:
        """Let the slot of a key migrate; at the end it has migrated with all that is left in it."""
        migration = Migration(self, key_slot(key.encode()), self.owner(key), to)
        migration.begin()
        try:
            yield migration
        finally:
            migration.finish()


class Migration:
    """A slot on its way from one master to another."""

    def __init__(self, cluster: Cluster, slot: int, source: Node, target: Node) -> None:
        self._cluster, self._slot, self.source, self.target = cluster, slot, source, target

    def begin(self) -> None:
        self.target.say("CLUSTER", "SETSLOT", self._slot, "IMPORTING", self.source.id)
        self.source.say("CLUSTER", "SETSLOT", self._slot, "MIGRATING", self.target.id)

    def left(self, most: int = 1_000) -> list[str]:
        """Return keys of the slot that have not moved."""
        keys: list[str] = self.source.say("CLUSTER", "GETKEYSINSLOT", self._slot, most)
        return keys

    def move(self, *keys: str) -> None:
        """Move keys to the other node."""
        if keys:
            self.source.say("MIGRATE", "127.0.0.1", self.target.port, "", 0, 5_000, "KEYS", *keys)

    def finish(self) -> None:
        """Move the rest; then the target has the slot, and all nodes know it."""
        while keys := self.left():
            self.move(*keys)
        for node in (self.target, self.source, *self._cluster.masters()):
            node.say("CLUSTER", "SETSLOT", self._slot, "NODE", self.target.id)


def _master_of(replica: Node) -> int | None:
    role = replica.say("ROLE")
    return int(role[2]) if role[0] == "slave" else None


def _is_in_sync(replica: Node) -> bool:
    return bool(replica.redis.info("replication").get("master_link_status") == "up")
