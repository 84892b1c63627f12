"""The limit: bullrush's own scripts, called with commands that were encoded before, over one plain socket.

The client takes almost no time, so this is the speed of Redis. No product can be faster with these scripts.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from urllib.parse import urlsplit

import orjson

from benches.harness.payload import NAME, payloads
from benches.peers import channel
from benches.peers.channel import Order
from bullrush.scripts import read_scripts

#: As large as the product's batches. 100 to 1,000 jobs per call and 2 or 4 calls in flight are equally fast: the server
#: is busy all the time.
_BATCH = 250
_WINDOW = 2
_TOKEN = "raw"
#: The number of hash fields of a job that was just fetched for the first time.
_PLAIN_FIELDS = 6


class Wire:
    """A socket to Redis that sends bytes and counts replies."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._socket = socket.create_connection((address.hostname or "127.0.0.1", address.port or 6379))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._replies = self._socket.makefile("rb", buffering=1 << 18)

    def run(self, commands: Iterable[bytes], window: int) -> None:
        """Send all commands, with this many ahead of their replies."""
        waiting = iter(commands)
        in_flight = 0
        for command in islice(waiting, window):
            self._socket.sendall(command)
            in_flight += 1
        while in_flight:
            self._skip_reply()
            in_flight -= 1
            for command in islice(waiting, 1):
                self._socket.sendall(command)
                in_flight += 1

    def close(self) -> None:
        """Close the socket."""
        self._replies.close()
        self._socket.close()

    def _skip_reply(self) -> None:
        line = self._replies.readline()
        kind, size = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(line.decode())
        if kind == b"*":
            for _ in range(int(size)):
                self._skip_reply()
        elif kind == b"$" and size != b"-1":
            self._replies.read(int(size) + 2)


def add(order: Order) -> None:
    wire, sha = _load(order, "add/add_jobs")
    batches = _batched(payloads(order["jobs"], order["payload"]), order.get("chunk", _BATCH))
    now = time.time_ns() // 1_000_000
    commands = [
        _call(sha, order, [len(some), NAME, "{}", now, 0, 0, 0, 0, *(orjson.dumps(data) for data in some)])
        for some in batches
    ]
    channel.ready()
    wire.run(commands, order.get("window", _WINDOW))
    channel.done()
    wire.close()


def process(order: Order) -> None:
    """Fetch a batch, then finish each batch and fetch the next one in the same call, as the worker does."""
    wire, fetch = _load(order, "fetch/move_to_active")
    _, finish = _load(order, "finish/move_to_finished")
    batch = order.get("chunk", _BATCH)
    now = time.time_ns() // 1_000_000
    terms, ahead = [_TOKEN, 30_000, "", "", ""], [0, 1, 0]
    commands = [_call(fetch, order, [now, *terms, batch, *ahead])]
    for ids in _batched(range(1, order["jobs"] + 1), batch):
        run = [len(ids), "completed", _TOKEN, -1, "", 1, _PLAIN_FIELDS, "null"]
        jobs = [part for job_id in ids for part in (now, job_id)]
        commands.append(_call(finish, order, [now, 0, batch, *terms, *ahead, "", *run, *jobs]))
    channel.ready()
    wire.run(commands, order.get("window", _WINDOW))
    channel.wait_for_stop()
    channel.done(handled=order["jobs"])
    wire.close()


def _load(order: Order, script: str) -> tuple[Wire, str]:
    found = read_scripts()[script]
    wire = Wire(order["url"])
    wire.run([_encode(["SCRIPT", "LOAD", found.source])], 1)
    return wire, found.sha


def _call(sha: str, order: Order, words: list[object]) -> bytes:
    return _encode(["EVALSHA", sha, 1, f"bull:{order['queue']}:meta", *words])


def _encode(words: list[object]) -> bytes:
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        text = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(text), text))
    return b"".join(parts)


def _batched(all_of_them: Iterable[object], size: int) -> Iterator[list[object]]:
    rest = iter(all_of_them)
    while some := list(islice(rest, size)):
        yield some


def main() -> None:
    channel.work("raw client", {"add": add, "process": process})
