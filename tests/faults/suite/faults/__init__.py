"""All faults, by name. `FAULTS` says where each can happen and how often it is chosen."""

from . import connections, jobs, processes, replicas, servers, slots
from .fault import Fault, Made

EVERYWHERE = ("single", "sentinel", "cluster")
REPLICATED = ("sentinel", "cluster")

#: Faults of one lane follow each other; those of all lanes happen at the same time. The number: how long a lane rests
#: after a fault, as a multiple of the shortest rest. Short faults come often, and those that cost the machine much come
#: seldom.
LANES = {
    "quick": 1,
    "reply": 1,
    "server": 8,
    "network": 6,
    "clock": 5,
    "odd": 5,
    "suspended": 5,
    "process": 15,
    "job": 20,
    "poison": 30,
}

#: Weights are relative, within a lane.
FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("worker killed", processes.killed, EVERYWHERE, 8, "process"),
        Fault("worker suspended", processes.suspended, EVERYWHERE, 6, "suspended"),
        Fault("worker suspended past its locks", processes.suspended_past_locks, EVERYWHERE, 2, "suspended"),
        Fault("worker out of memory", jobs.out_of_memory, EVERYWHERE, 1, "job"),
        Fault("worker crashes in a job", jobs.crash, EVERYWHERE, 2, "job"),
        Fault("worker ended by SIGTERM", processes.terminated, EVERYWHERE, 1, "process"),
        Fault("worker forks", jobs.fork, EVERYWHERE, 1, "job"),
        Fault("producer killed", processes.producer_killed, EVERYWHERE, 2, "process"),
        Fault("clock of a worker steps", processes.clock_steps, EVERYWHERE, 1, "clock"),
        Fault("poison job", jobs.poison, EVERYWHERE, 1, "poison"),
        Fault("damaged job", jobs.damaged, EVERYWHERE, 2),
        Fault("bytes of replies changed", connections.mutated, ("single",), 2, "odd"),
        Fault("connections cut", connections.cut, EVERYWHERE, 12),
        Fault("connections reset", connections.reset, EVERYWHERE, 12),
        Fault("clients killed", connections.clients_killed, EVERYWHERE, 6),
        Fault("reply lost", connections.reply_lost, EVERYWHERE, 10, "reply"),
        Fault("reply of an add lost", connections.reply_of_add_lost, EVERYWHERE, 6, "reply"),
        Fault("reply swallowed", connections.reply_swallowed, EVERYWHERE, 4, "reply"),
        Fault("reply doubled", connections.reply_doubled, EVERYWHERE, 4, "reply"),
        Fault("replies in another order", connections.replies_reordered, EVERYWHERE, 4, "reply"),
        Fault("partition", connections.partition, ("single",), 2, "network"),
        Fault("blocking connections half open", connections.waits_swallowed, EVERYWHERE, 2, "network"),
        Fault("connections refused", connections.refused, ("single",), 4, "network"),
        Fault("slow network", connections.slow, EVERYWHERE, 4, "network"),
        Fault("500 clients at once", connections.storm, EVERYWHERE, 1, "network"),
        Fault("scripts flushed", servers.scripts_flushed, EVERYWHERE, 8),
        Fault("CLIENT PAUSE", servers.paused, EVERYWHERE, 10, "server"),
        Fault("server busy", servers.busy, EVERYWHERE, 3, "server"),
        Fault("server suspended", servers.suspended, EVERYWHERE, 5, "server"),
        Fault("maxmemory", servers.memory_full, EVERYWHERE, 5, "server"),
        Fault("maxclients", servers.clients_full, EVERYWHERE, 2, "server"),
        Fault("disk full", servers.disk_full, ("single",), 2, "server"),
        Fault("clock of the server steps", servers.clock_steps, EVERYWHERE, 1, "clock"),
        Fault("server killed", servers.killed, ("single",), 3, "server"),
        Fault("server restarted", servers.restarted, ("single",), 2, "server"),
        Fault("replica killed", replicas.replica_killed, REPLICATED, 2, "server"),
        Fault("planned failover", replicas.planned_failover, REPLICATED, 4, "server"),
        Fault("master killed", replicas.master_killed, REPLICATED, 1, "server"),
        Fault("master cut off", replicas.master_cut_off, REPLICATED, 1, "server"),
        Fault("slot migrated", slots.migrated, ("cluster",), 3, "server"),
    )
}

__all__ = ["FAULTS", "LANES", "Fault", "Made"]
