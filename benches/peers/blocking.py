"""The tasks of peers with a blocking ``add``: a peer only gives functions that add one job and count waiting ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benches.harness.payload import payloads
from benches.peers import channel
from benches.peers.channel import Order

AddOne = Callable[[Any], object]


def add_each(order: Order, add_one: AddOne) -> None:
    """Add jobs one after another."""
    data = payloads(order["jobs"], order["payload"])
    channel.ready()
    for one in data:
        add_one(one)
    channel.done()


def add_threads(order: Order, add_one: AddOne) -> None:
    """Add jobs with one thread per concurrent call."""
    data = iter(payloads(order["jobs"], order["payload"]))  # a list's iterator: safe to share

    def add_next() -> None:
        for one in data:
            add_one(one)

    with ThreadPoolExecutor(order["inflight"]) as threads:
        channel.ready()
        for adding in [threads.submit(add_next) for _ in range(order["inflight"])]:
            adding.result()
        channel.done()


def add_paced(order: Order, add_one: AddOne) -> None:
    """Add jobs at fixed times, without waiting for their results."""
    channel.ready()
    began = time.monotonic()
    for index in range(order["jobs"]):
        time.sleep(channel.pause_until_due(began, index, order))
        add_one(channel.stamped())
    channel.done()


def tasks(opened: Callable[[Order], AddOne]) -> dict[str, Callable[[Order], None]]:
    """Return the tasks of a producer; ``opened`` connects and returns what adds one job."""
    return {
        "add": lambda order: add_each(order, opened(order)),
        "add_bulk": lambda order: add_each(order, opened(order)),
        "add_concurrent": lambda order: add_threads(order, opened(order)),
        "add_paced": lambda order: add_paced(order, opened(order)),
    }
