"""A cluster and a Sentinel whose servers speak TLS and ask clients for a certificate.

They need a Redis that was built with TLS.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from redis import Redis

from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

from .cluster import SLOTS
from .ports import BUS, free_port
from .sentinel import SERVICE, SentinelProcess
from .tls import Authority, Identity


class Secured:
    """How the servers speak TLS; their plain ports are for the test itself.

    Args:
        identity: the certificate of every server.
        authority: signs the certificates of servers and clients.
    """

    def __init__(self, identity: Identity, authority: Authority) -> None:
        self.files = {
            "tls-cert-file": identity.certificate,
            "tls-key-file": identity.key,
            "tls-ca-cert-file": authority.certificate,
            "tls-replication": "yes",
        }

    def start(self, port: int, **options: object) -> EmbeddedRedis:
        """Start a server with TLS at a port."""
        named = {"tls-port": port, **self.files, **{name.replace("_", "-"): value for name, value in options.items()}}
        args = [word for name, value in named.items() for word in (f"--{name}", *str(value).split(" "))]
        return EmbeddedRedis(port=0, password="", persistence=False, args=args)

    @contextmanager
    def cluster(self) -> Iterator[list[int]]:
        """Run two masters with half of the slots each; yield their ports."""
        ports = [free_port(), free_port()]
        with ExitStack() as running:
            nodes = [
                running.enter_context(
                    self.start(port, cluster_enabled="yes", tls_cluster="yes", cluster_announce_ip="127.0.0.1")
                )
                for port in ports
            ]
            clients = [running.enter_context(Redis.from_url(node.url, decode_responses=True)) for node in nodes]
            for number, client in enumerate(clients):
                client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
                slots = range(SLOTS * number // 2, SLOTS * (number + 1) // 2)
                client.execute_command("CLUSTER", "ADDSLOTS", *slots)
            clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", ports[1], ports[1] + BUS)
            for client in clients:
                wait_until(lambda client=client: _sees_both(client), "the node sees a whole cluster")
            yield ports

    @contextmanager
    def sentinel(self) -> Iterator[tuple[int, list[EmbeddedRedis]]]:
        """Run a master and a replica with one Sentinel; yield the port of the Sentinel, and the servers."""
        first, second, port = free_port(), free_port(), free_port()
        with ExitStack() as running:
            master = running.enter_context(self.start(first, repl_diskless_sync_delay=0))
            replica = running.enter_context(
                self.start(second, repl_diskless_sync_delay=0, replicaof=f"127.0.0.1 {first}")
            )
            with Redis.from_url(replica.url, decode_responses=True) as client:
                wait_until(lambda: client.info("replication")["master_link_status"] == "up", "the replica is in sync")
            settings = [
                f"tls-port {port}",
                *(f"{name} {value}" for name, value in self.files.items()),
                f"sentinel monitor {SERVICE} 127.0.0.1 {first} 1",
                f"sentinel down-after-milliseconds {SERVICE} 500",
            ]
            with SentinelProcess(settings) as sentinel, Redis.from_url(sentinel.url, decode_responses=True) as client:
                wait_until(lambda: _is_ready(client), "the Sentinel knows a replica")
                yield port, [master, replica]


def speaks_tls() -> bool:
    """Return whether the server binary was built with TLS: otherwise it does not know this option."""
    try:
        EmbeddedRedis(args=["--tls-port", "0"]).stop()
    except RuntimeError:
        return False
    return True


def _sees_both(client: Redis) -> bool:
    facts = client.execute_command("CLUSTER", "INFO")
    return "cluster_state:ok" in facts and "cluster_known_nodes:2" in facts


def _is_ready(client: Redis) -> bool:
    return any(replica["master-link-status"] == "ok" for replica in client.sentinel_slaves(SERVICE))
