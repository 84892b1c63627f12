"""Where the queue of a round lives: one server, Sentinel with two replicas, or a cluster of three masters.

Each master of the cluster has a replica.
"""

from .base import Topology
from .cluster import Cluster
from .sentinel import Sentinel
from .single import Single

TOPOLOGIES: dict[str, type[Topology]] = {"single": Single, "sentinel": Sentinel, "cluster": Cluster}

__all__ = ["TOPOLOGIES", "Cluster", "Sentinel", "Single", "Topology"]
