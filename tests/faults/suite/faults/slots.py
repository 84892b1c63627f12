"""The slot of the queue moves to another node while everybody works."""

import random
import threading
import time
from typing import TYPE_CHECKING

from redis import RedisError

from ..server import Server
from ..topologies import Cluster
from ..topologies.cluster import identity
from .fault import Made

if TYPE_CHECKING:
    from ..round import Round

KEYS_AT_ONCE = 50


def migrated(round: "Round", chance: random.Random) -> Made:
    """As ``redis-cli --cluster reshard`` does it: key after key, and at the end all nodes get to know it."""
    topology = round.topology
    assert isinstance(topology, Cluster)
    source = topology.master
    others = [server for server in topology.servers if server is not source and server.role() == "master"]
    if not others:
        return Made(void=True)
    target, pause = chance.choice(others), chance.choice((0.0, 0.002))
    wrong: list[str] = []

    def run() -> None:
        try:
            _migrate(topology, source, target, pause)
        except (RedisError, OSError) as error:
            wrong.append(str(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def undo() -> None:
        thread.join(120)
        topology.settle()

    return Made(lasts=60, until=lambda: not thread.is_alive(), undo=undo)


def _migrate(topology: Cluster, source: Server, target: Server, pause: float) -> None:
    slot = topology.slot
    target.client.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", identity(source))
    source.client.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", identity(target))
    while keys := source.client.execute_command("CLUSTER", "GETKEYSINSLOT", slot, KEYS_AT_ONCE):
        source.client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
        time.sleep(pause)
    masters = [server for server in topology.servers if server.role() == "master"]
    for server in [target, source, *(one for one in masters if one not in (source, target))]:
        server.client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", identity(target))
