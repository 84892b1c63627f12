"""The load of all workers: jobs are added at fixed times, in an open loop, without waiting for their results.

Jobs that are due go into one call, every millisecond, so that the generator needs little of the machine. Each has its
due time.
"""

from __future__ import annotations

import time
from typing import Any

from benches.harness.payload import NAME
from benches.peers import channel
from benches.peers.channel import Order
from bullrush import Queue


def add_load(order: Order) -> None:
    with Queue(order["queue"], url=order["url"]) as queue:
        queue.wait_until_ready()
        channel.ready()
        began = time.time()
        added = 0
        while added < order["jobs"]:
            due = min(order["jobs"], int((time.time() - began) * order["rate"]) + 1)
            jobs: Any = (
                {"name": NAME, "data": {"due": (began + index / order["rate"]) * 1000}} for index in range(added, due)
            )
            if due > added:
                queue.add_bulk(jobs)
                added = due
            time.sleep(0.001)
        channel.done()


def main() -> None:
    channel.work("load generator", {"add_load": add_load})
