"""RQ as a peer: ``enqueue_many`` in one pipeline; `SimpleWorker`, which does not fork for each job."""

from __future__ import annotations

import logging
import os
import signal
import threading
from typing import Any

from redis import Redis
from rq import Queue, SimpleWorker

from benches.harness.payload import payloads
from benches.peers import blocking, channel
from benches.peers.channel import Order, Run

_CHUNK = 1_000
_HANDLER = "benches.peers.rq_peer.handle"
_run: Run


def handle(data: dict[str, Any]) -> None:
    _run(data)


def open_queue(order: Order) -> Any:
    return Queue(order["queue"], connection=Redis.from_url(order["url"]))


def add_bulk(order: Order) -> None:
    queue = open_queue(order)
    jobs = [Queue.prepare_data(_HANDLER, (data,)) for data in payloads(order["jobs"], order["payload"])]
    channel.ready()
    for start in range(0, len(jobs), _CHUNK):
        queue.enqueue_many(jobs[start : start + _CHUNK])
    channel.done()


def adder(order: Order) -> blocking.AddOne:
    queue = open_queue(order)
    return lambda data: queue.enqueue(_HANDLER, data)


def process(order: Order) -> None:
    global _run
    _run = Run(order)
    queue = open_queue(order)
    worker = SimpleWorker([queue], connection=queue.connection)

    def interrupt_at_stop() -> None:
        channel.wait_for_stop()
        os.kill(os.getpid(), signal.SIGTERM)

    channel.ready()
    threading.Thread(target=interrupt_at_stop).start()
    worker.work(logging_level=logging.ERROR)
    _run.done()


def count(order: Order) -> None:
    waiting = open_queue(order).count
    channel.ready()
    channel.done(waiting=waiting)


def main() -> None:
    channel.serve("rq", {**blocking.tasks(adder), "add_bulk": add_bulk, "process": process, "count": count})
