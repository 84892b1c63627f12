"""Huey as a peer: 8 threads, no results kept; it has no call for many tasks."""

from __future__ import annotations

import logging
from typing import Any

from huey import RedisHuey

from benches.peers import blocking, channel
from benches.peers.channel import Order, Run

_THREADS = 8


def connect(order: Order, handle: Any) -> tuple[Any, Any]:
    huey = RedisHuey(order["queue"], url=order["url"], results=False)

    def task(data: dict[str, Any]) -> None:
        handle(data)

    return huey, huey.task(name="handle")(task)


def adder(order: Order) -> blocking.AddOne:
    _, task = connect(order, lambda data: None)
    return lambda data: task(data)


def process(order: Order) -> None:
    run = Run(order)
    huey, _ = connect(order, run)
    consumer = huey.create_consumer(workers=_THREADS, worker_type="thread", periodic=False)
    channel.ready()
    consumer.start()
    channel.wait_for_stop()
    consumer.stop(graceful=True)
    run.done()


def count(order: Order) -> None:
    huey, _ = connect(order, lambda data: None)
    waiting = huey.pending_count()
    channel.ready()
    channel.done(waiting=waiting)


def main() -> None:
    logging.disable(logging.WARNING)
    channel.serve("huey", {**blocking.tasks(adder), "process": process, "count": count})
