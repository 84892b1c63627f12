"""Faults where a replica takes over."""

import random
from contextlib import suppress
from typing import TYPE_CHECKING

from redis import RedisError

from tests.waiting import wait_until

from ..server import Server, raw
from ..topologies import Cluster, Sentinel, Topology
from ..topologies.sentinel import MASTER
from .fault import Made

if TYPE_CHECKING:
    from ..round import Round


def replicas(round: "Round") -> list[Server]:
    """Return the replicas of the server that has the queue."""
    topology, master = round.topology, round.topology.master
    if isinstance(topology, Cluster):
        return topology.replicas_of(master)
    return [server for server in topology.servers if server is not master and server.role() == "slave"]


def replica_killed(round: "Round", chance: random.Random) -> Made:
    if not (found := replicas(round)):
        return Made(void=True)
    victim = chance.choice(found)
    victim.kill()
    return Made(lasts=chance.uniform(0.2, 2), undo=victim.start)


def planned_failover(round: "Round", chance: random.Random) -> Made:
    """The operator moves the queue to a replica: the old master stops writing until the replica has everything."""
    del chance
    old = round.topology.master
    if not replicas(round):
        return Made(void=True)
    if isinstance(round.topology, Cluster):
        done = _ask_cluster(round)
        return Made(lasts=12, until=lambda: _has_moved(round, old), undo=round.topology.settle, void=not done)
    _ask_sentinel(round.topology, old)
    return Made(lasts=0, undo=round.topology.settle)


def _ask_sentinel(topology: Topology, old: Server) -> None:
    """Sentinel does not wait for the replica.

    So nobody writes meanwhile, and the old master follows before it is asked again.
    """
    assert isinstance(topology, Sentinel)
    raw(old.client, "CLIENT", "PAUSE", 15_000, "WRITE")
    try:
        wait_until(lambda: _has_all(old), "the replicas have everything", seconds=5)
        raw(topology.clients[0], "SENTINEL", "FAILOVER", MASTER)
        port = wait_until(lambda: topology.port_of_another(old), "another one is the master", seconds=10)
        old.client.execute_command("REPLICAOF", "127.0.0.1", port)
    finally:
        raw(old.client, "CLIENT", "UNPAUSE")


def _has_all(master: Server) -> bool:
    state = master.client.info("replication")
    slaves = [state[f"slave{number}"] for number in range(state["connected_slaves"])]
    return bool(slaves) and all(
        one["state"] == "online" and one["offset"] >= state["master_repl_offset"] for one in slaves
    )


def _ask_cluster(round: "Round") -> bool:
    for replica in replicas(round):
        with suppress(RedisError):
            replica.client.execute_command("CLUSTER", "FAILOVER")
            return True
    return False


def _has_moved(round: "Round", old: Server) -> bool:
    return old.role() == "slave" and round.topology.master is not old


def master_killed(round: "Round", chance: random.Random) -> Made:
    """It comes back as a replica after a while. Writes that no replica had are lost."""
    old = round.topology.master
    if not replicas(round):
        return Made(void=True)
    old.kill()

    def undo() -> None:
        old.start()
        round.topology.settle()

    return Made(lasts=chance.uniform(6, 9), undo=undo, may_lose=True)


def master_cut_off(round: "Round", chance: random.Random) -> Made:
    """It runs, and nobody reaches it: another one takes over, and it learns that when the others are back."""
    topology = round.topology
    relay = round.relay_of_master()
    relay.swallow(True)

    def undo() -> None:
        relay.swallow(False)
        relay.reset()
        topology.settle()

    return Made(lasts=chance.uniform(6, 9), undo=undo, may_lose=True)
