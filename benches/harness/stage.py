"""The place of one contender's round: the server, its processes, an empty queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from benches.harness.contender import Contender
from benches.harness.measuring import Meter
from benches.harness.payload import NAME, payloads, table
from benches.harness.peer import Peer, PeerError
from benches.harness.server import BenchServer
from bullrush import Queue


@dataclass(frozen=True)
class Stage:
    """One contender's round.

    Attributes:
        server: emptied before.
        contender: who does the work.
        peers: its processes.
        queue: the queue to use.
        jobs: how many jobs it has.
        payload: bytes of data in each job, about.
        max_seconds: seconds until the contender is left out.
    """

    server: BenchServer
    contender: Contender
    peers: tuple[Peer, ...]
    queue: str
    jobs: int
    payload: int = 100
    max_seconds: float = 60.0

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Kill the contender's processes if a block takes too long."""
        with ExitStack() as limits:
            for peer in self.peers:
                limits.enter_context(peer.limited(self.max_seconds))
            yield

    def prepare(self, peer: Peer, order: Mapping[str, object] | None = None) -> None:
        """Give a process its order, and wait until it is ready."""
        own = {"task": self.contender.task, "queue": self.queue, "jobs": self.jobs, **self.contender.options}
        peer.prepare({**own, "url": self.server.url, "payload": self.payload, **(order or {})})

    def meter(self) -> Meter:
        """Start the measurement."""
        return Meter(self.server, self.peers)

    def fill(self, queue: str, jobs: int, opts: Mapping[str, object] | None = None) -> None:
        """Add the jobs to be worked. Contenders with the same key layout all get them from the same producer."""
        if self.contender.foreign:
            self.ask("add_bulk", jobs=jobs)
            self.check_waiting(jobs)
            return
        with Queue(queue, url=self.server.url) as producer:
            if opts:
                new: Any = ({"name": NAME, "opts": dict(opts), "data": data} for data in payloads(jobs, self.payload))
                producer.add_bulk(new)
            else:
                producer.add_arrow(table(jobs, self.payload), name=NAME)

    def check_waiting(self, jobs: int) -> None:
        """Let a contender with another key layout count its waiting jobs."""
        if (found := self.ask("count")["waiting"]) != jobs:
            raise PeerError(f"{self.contender.name}: {found} jobs wait instead of {jobs}")

    def ask(self, task: str, **order: object) -> dict[str, Any]:
        """Let the first process do a task that is not measured."""
        peer = self.peers[0]
        with self.limited():
            self.prepare(peer, {"task": task, **order})
            peer.go()
            return peer.done()
