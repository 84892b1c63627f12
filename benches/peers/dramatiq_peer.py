"""Dramatiq as a peer: 8 threads, what its command line has; it has no call for many messages."""

from __future__ import annotations

import logging
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benches.peers import blocking, channel
from benches.peers.channel import Order, Run

_THREADS = 8


def connect(order: Order, handle: Any) -> tuple[Any, Any]:
    broker = RedisBroker(url=order["url"])
    return broker, dramatiq.actor(handle, actor_name="handle", queue_name=order["queue"], broker=broker)


def adder(order: Order) -> blocking.AddOne:
    _, actor = connect(order, lambda data: None)
    return lambda data: actor.send(data)


def process(order: Order) -> None:
    run = Run(order)
    broker, _ = connect(order, run)
    worker = dramatiq.Worker(broker, worker_threads=_THREADS, worker_timeout=100)
    channel.ready()
    worker.start()
    channel.wait_for_stop()
    worker.stop()
    broker.close()
    run.done()


def count(order: Order) -> None:
    broker, _ = connect(order, lambda data: None)
    waiting = broker.client.llen(f"dramatiq:{order['queue']}")
    channel.ready()
    channel.done(waiting=waiting)


def main() -> None:
    logging.disable(logging.WARNING)
    channel.serve("dramatiq", {**blocking.tasks(adder), "process": process, "count": count})
