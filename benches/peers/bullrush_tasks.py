"""bullrush as a peer, through its tasks: typed calls instead of names and dicts, and dispatch by name."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from benches.harness.payload import NAME, payloads
from benches.peers import bullrush_peer, channel
from benches.peers.bullrush_worker import Handlers, process, run_until_stop
from benches.peers.channel import Order
from bullrush import Queue, Tasks, Worker, enqueue_many
from bullrush.tasks import Task


def _order_task(order: Order) -> tuple[Tasks, Task[..., Any], itertools.count[int]]:
    """Return a registry with one task, which counts its runs."""
    tasks, count = Tasks(order["queue"], url=order["url"]), itertools.count()

    @tasks.task(name=NAME)
    def do_order(order: int, customer: str, amount: float, note: str) -> None:
        next(count)

    with Queue(order["queue"], url=order["url"]) as queue:
        queue.wait_until_ready()
    return tasks, do_order, count


def enqueue(order: Order) -> None:
    _, task, _ = _order_task(order)
    data: list[Any] = payloads(order["jobs"], order["payload"])
    channel.ready()
    for one in data:
        task.enqueue(**one)
    channel.done()


def enqueue_all(order: Order) -> None:
    _, task, _ = _order_task(order)
    data: list[Any] = payloads(order["jobs"], order["payload"])
    channel.ready()
    enqueue_many(task.bind(**one) for one in data)
    channel.done()


def process_tasks(order: Order) -> None:
    tasks, _, count = _order_task(order)
    run_until_stop(Worker(tasks, **order["worker"]))
    channel.done(handled=next(count), latencies=[])


def process_by_name(order: Order) -> None:
    """Run jobs with a handler for their name."""
    handlers = Handlers(order)
    run_until_stop(Worker(order["queue"], {NAME: handlers.noop}, url=order["url"], **order["worker"]))
    channel.done(handled=next(handlers.count), latencies=[])


TASKS: dict[str, Callable[[Order], None]] = {
    **{task.__name__: task for task in (enqueue, enqueue_all, process_tasks, process_by_name, process)},
    "add": bullrush_peer.add,
    "add_bulk": bullrush_peer.add_bulk,
}


def main() -> None:
    channel.serve("bullrush", TASKS)
