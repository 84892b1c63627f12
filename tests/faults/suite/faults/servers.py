"""Faults of the server that has the queue."""

import random
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from redis import Redis, RedisError

from ..server import DRIVER, Server, raw
from .connections import kill_clients
from .fault import Made

if TYPE_CHECKING:
    from ..round import Round

BUSY = "local till = redis.call('TIME')[1] + ARGV[1] while redis.call('TIME')[1] + 0 < till do end"


def scripts_flushed(round: "Round", chance: random.Random) -> Made:
    del chance
    raw(round.topology.master.client, "SCRIPT", "FLUSH")
    return Made()


def paused(round: "Round", chance: random.Random) -> Made:
    ms = chance.choice((chance.randrange(50, 300), chance.randrange(50, 300), chance.randrange(300, 2000)))
    raw(round.topology.master.client, "CLIENT", "PAUSE", ms, chance.choice(("ALL", "WRITE")))
    return Made(lasts=ms / 1000)


def busy(round: "Round", chance: random.Random) -> Made:
    """A script of somebody else runs so long that Redis answers BUSY."""
    server, seconds = round.topology.master, chance.randrange(1, 4)

    def run() -> None:
        with suppress(RedisError, OSError), Redis(port=server.port, socket_timeout=30) as client:
            client.config_set("lua-time-limit", 100)
            client.eval(BUSY, 0, seconds)
            client.config_set("lua-time-limit", 5000)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return Made(lasts=seconds + 0.5, undo=lambda: thread.join(30), until=lambda: not thread.is_alive())


def suspended(round: "Round", chance: random.Random) -> Made:
    """It answers nobody, like a machine that swaps. Not so long that another one takes over, where there is one."""
    server = round.topology.master
    server.suspend()
    longest = 3.0 if round.topology.name == "single" else 0.7
    return Made(lasts=chance.uniform(0.2, longest), undo=server.go_on)


def memory_full(round: "Round", chance: random.Random) -> Made:
    server = round.topology.master
    raw(server.client, "CONFIG", "SET", "maxmemory", 1)
    return Made(lasts=chance.uniform(0.3, 3), undo=lambda: round.insist(server, "CONFIG", "SET", "maxmemory", 0))


def clients_full(round: "Round", chance: random.Random) -> Made:
    """No new connection is served; those that there are end, so each client has to come back."""
    port = round.topology.master.port
    client = Redis(port=port, single_connection_client=True, socket_timeout=20, client_name=DRIVER)
    raw(client, "CONFIG", "SET", "maxclients", 8)
    kill_clients(client)

    def undo() -> None:
        client.config_set("maxclients", 10_000)
        client.close()

    return Made(lasts=chance.uniform(0.3, 2), undo=undo)


def disk_full(round: "Round", chance: random.Random) -> Made:
    """The file cannot grow: a server that syncs each second refuses to write, one that syncs always ends."""
    server = round.topology.master
    ends = chance.random() < 0.4
    if not ends:
        raw(server.client, "CONFIG", "SET", "appendfsync", "everysec")
    server.limit_files(server.log_size() + 20_000)

    def undo() -> None:
        if not server.alive:
            server.start()
            return
        server.limit_files(None)
        round.insist(server, "CONFIG", "SET", "appendfsync", "always")

    return Made(lasts=chance.uniform(1.5, 3), undo=undo)


def clock_steps(round: "Round", chance: random.Random) -> Made:
    """Forward or back by up to 4 s: forward, locks expire at once; back, they last longer."""
    clock = round.topology.clock
    clock.set(chance.choice((-1, 1)) * chance.randrange(200, 4000))
    return Made(lasts=chance.uniform(1, 3), undo=lambda: clock.set(0))


def killed(round: "Round", chance: random.Random) -> Made:
    return _down(round.topology.master, chance, Server.kill)


def restarted(round: "Round", chance: random.Random) -> Made:
    return _down(round.topology.master, chance, Server.shut_down)


def _down(server: Server, chance: random.Random, end: "object") -> Made:
    (Server.kill if end is Server.kill else Server.shut_down)(server)
    return Made(lasts=chance.choice((0.0, chance.uniform(0.1, 3))), undo=server.start)
