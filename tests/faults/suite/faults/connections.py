"""Faults of connections, made by the relays or by the server."""

import asyncio
import random
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from redis import Redis

from tests.faults.proxy import Disorder, Proxy

from ..ports import ports_of
from ..processes import Process
from ..server import DRIVER, raw
from .fault import Made

if TYPE_CHECKING:
    from ..round import Round

#: Scripts of ours whose replies get lost: those that are called all the time, and some that are called now and then.
OF_PRODUCERS = ("add_jobs", "add_jobs", "add_linked_jobs")
OF_WORKERS = ("move_to_active", "move_to_finished", "move_to_delayed", "retry_job", "extend_locks", "start_jobs")
#: In this share of the faults, all connections of a relay are hit; in the others, one connection of one process, or all
#: of them.
ALL, ALL_OF_ONE = 0.2, 0.4


def some_relay(round: "Round", chance: random.Random) -> tuple[Proxy, list[str] | None]:
    """Return a relay that the main queue is reached by, and the processes that use it."""
    if round.topology.name != "single":
        return round.relay_of_master(), None
    name = chance.choice([name for name in round.topology.relays if name != "odd"])
    return round.topology.relays[name], [one.name for one in round.processes.all if one.relay == name]


def some_process(round: "Round", chance: random.Random, *, adds: bool | None = None) -> tuple[Proxy, Process] | None:
    """Return a process that runs, with the relay that it uses, None if there is none.

    Args:
        round: the round.
        chance: what decides.
        adds: a producer or a worker, None for any.
    """
    producers, workers = list(round.processes.producers), list(round.processes.living())
    some = producers if adds else workers if adds is False else producers + workers
    some = [one for one in some if one.alive and one.name != round.odd_name]
    if (
        adds and chance.random() < 0.8
    ):  # mostly those that add jobs without ids of their own, too: a second one would show
        some = [one for one in some if one.kind in ("sync", "aio")]
    if not some:
        return None
    chosen = chance.choice(some)
    relays = round.topology.relays
    return relays[chosen.relay] if round.topology.name == "single" else round.relay_of_master(), chosen


def cut(round: "Round", chance: random.Random) -> Made:
    return _end_some(round, chance, Proxy.cut)


def reset(round: "Round", chance: random.Random) -> Made:
    return _end_some(round, chance, Proxy.reset)


def _end_some(round: "Round", chance: random.Random, end: Callable[[Proxy, set[int] | None], None]) -> Made:
    share = chance.random()
    if share < ALL:
        relay, victims = some_relay(round, chance)
        end(relay, None)
        return Made(victims)
    if not (found := some_process(round, chance)):
        return Made(void=True)
    relay, victim = found
    ports = sorted(relay.ports & ports_of(victim.pid))
    if not ports:  # it has no connection now
        return Made(void=True)
    end(relay, set(ports) if share < ALL + ALL_OF_ONE else {chance.choice(ports)})
    return Made([victim.name])


def clients_killed(round: "Round", chance: random.Random) -> Made:
    """All clients, or one, as an operator does it."""
    return Made(void=not kill_clients(round.topology.master.client, chance if chance.random() < 0.7 else None))


def kill_clients(client: "Redis[str]", chance: random.Random | None = None) -> int:
    """Kill all clients but those of the suite, or one of them by chance; return how many."""
    found = [one["id"] for one in client.client_list("normal") if one["name"] != DRIVER]
    chosen = [chance.choice(found)] if chance and found else found
    return sum(1 for number in chosen if raw(client, "CLIENT", "KILL", "ID", number))


def reply_lost(round: "Round", chance: random.Random) -> Made:
    """One call of a worker is executed and its reply is lost, wholly or in part."""
    return _lose_reply(round, chance, OF_WORKERS, adds=False)


def reply_of_add_lost(round: "Round", chance: random.Random) -> Made:
    """A producer does not learn that its jobs were added."""
    return _lose_reply(round, chance, OF_PRODUCERS, adds=True)


def _lose_reply(round: "Round", chance: random.Random, scripts: tuple[str, ...], *, adds: bool) -> Made:
    found = some_process(round, chance, adds=adds)
    if not found or not found[1].is_ours:  # the relays know the scripts of ours by name
        return Made(void=True)
    relay, victim = found
    if chance.random() < 0.5:
        scripts = (chance.choice(scripts),)
    trap = relay.lose_reply(scripts, chance.choice((0.0, 0.5, 0.99)), ports=ports_of(victim.pid))
    sprung = trap.sprung.wait(1.5)
    if not sprung:
        relay.disarm()
    return Made([victim.name], void=not sprung)


def reply_swallowed(round: "Round", chance: random.Random) -> Made:
    """A reply does not come, and its connection stays open: each later reply would be the answer to the call before."""
    return _disturb(round, chance, Disorder.LOST)


def reply_doubled(round: "Round", chance: random.Random) -> Made:
    return _disturb(round, chance, Disorder.DOUBLED)


def replies_reordered(round: "Round", chance: random.Random) -> Made:
    return _disturb(round, chance, Disorder.LATE)


def _disturb(round: "Round", chance: random.Random, disorder: Disorder) -> Made:
    found = some_process(round, chance)
    if not found or not found[1].is_ours:  # BullMQ for Node believes every reply
        return Made(void=True)
    relay, victim = found
    # A reply that is late within a write of several is not noticed: only pieces come in another order on a network.
    one_reply = disorder is not Disorder.LATE and chance.random() < 0.5
    disturbance = relay.disturb(disorder, one_reply=one_reply, ports=ports_of(victim.pid))
    happened = disturbance.happened.wait(1.5)
    if not happened:
        relay.disarm()
    return Made([victim.name], void=not happened)


def partition(round: "Round", chance: random.Random) -> Made:
    """Nothing passes, and no connection ends."""
    relay, victims = some_relay(round, chance)
    relay.swallow(True)

    def undo() -> None:
        relay.swallow(False)
        relay.reset()  # what was swallowed is gone: the stream of each connection has a hole

    return Made(victims, chance.uniform(0.3, 9), undo)


def waits_swallowed(round: "Round", chance: random.Random) -> Made:
    """Only the connections on which workers wait for jobs are half open."""
    relay, victims = some_relay(round, chance)
    relay.swallow_waits(True)
    return Made(victims, chance.uniform(2, 8), lambda: relay.swallow_waits(False))


def refused(round: "Round", chance: random.Random) -> Made:
    """Connections are accepted and closed at once."""
    relay, victims = some_relay(round, chance)
    relay.refuse(True)
    relay.cut()
    return Made(victims, chance.uniform(0.3, 3), lambda: relay.refuse(False))


def slow(round: "Round", chance: random.Random) -> Made:
    relay, victims = some_relay(round, chance)
    relay.delay(chance.uniform(0.03, 0.2))
    return Made(victims, chance.uniform(0.5, 2), lambda: relay.delay(0))


def mutated(round: "Round", chance: random.Random) -> Made:
    """One byte in some replies is another one.

    Only for a queue of its own, where any outcome is right but no outcome is not.
    """
    relay = round.topology.relays["odd"]
    round.odd.allow_any_outcome(True)
    relay.mutate(random.Random(chance.random()), 0.2)
    for _ in range(20):
        round.odd_job({"ms": 0})

    def end() -> None:
        relay.mutate(None)
        round.odd.allow_any_outcome(False)

    return Made([round.odd_name], chance.uniform(1, 3), end)


def storm(round: "Round", chance: random.Random) -> Made:
    """500 clients connect, ask and leave."""
    port = round.topology.master.port
    thread = threading.Thread(target=lambda: asyncio.run(_storm(port)), daemon=True)
    thread.start()
    return Made(lasts=2, undo=lambda: thread.join(10), until=lambda: not thread.is_alive())


async def _storm(port: int) -> None:
    async def visit() -> None:
        with suppress(OSError, asyncio.TimeoutError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"PING\r\n")
            await asyncio.wait_for(reader.read(64), 5)
            await asyncio.sleep(0.3)
            writer.close()
            await writer.wait_closed()

    await asyncio.gather(*(visit() for _ in range(500)))


def hold_connections(port: int, count: int) -> list[socket.socket]:
    """Open connections and return them."""
    held = []
    for _ in range(count):
        with suppress(OSError):
            held.append(socket.create_connection(("127.0.0.1", port), timeout=1))
    return held
