"""bullrush as a peer."""

from __future__ import annotations

import asyncio
import itertools
import platform
import threading
from collections.abc import Callable, Mapping
from typing import Any

from benches.harness.payload import NAME, NOTE, payloads
from benches.peers import channel
from bullrush import Queue, Worker, _core, aio
from bullrush.job import Job

Order = Mapping[str, Any]


def add_bulk(order: Order) -> None:
    jobs: Any = [{"name": NAME, "data": data} for data in payloads(order["jobs"])]
    with Queue(order["queue"], url=order["url"]) as queue:
        queue.wait_until_ready()
        channel.ready()
        queue.add_bulk(jobs)
        channel.done()


def add_arrow(order: Order) -> None:
    import pyarrow as pa

    numbers = range(order["jobs"])
    table = pa.table(
        {
            "order": pa.array(numbers, pa.int64()),
            "customer": [f"c-{number:06}" for number in numbers],
            "amount": [number % 997 + 0.5 for number in numbers],
            "note": [NOTE] * len(numbers),
        }
    )
    with Queue(order["queue"], url=order["url"]) as queue:
        queue.wait_until_ready()
        channel.ready()
        queue.add_arrow(table, name=NAME)
        channel.done()


def add(order: Order) -> None:
    with Queue(order["queue"], url=order["url"]) as queue:
        queue.wait_until_ready()
        data = payloads(order["jobs"])
        channel.ready()
        for one in data:
            queue.add(NAME, one)
        channel.done()


def add_async(order: Order) -> None:
    async def run() -> None:
        queue = aio.Queue(order["queue"], url=order["url"])
        await queue.wait_until_ready()
        data = payloads(order["jobs"])
        channel.ready()
        for one in data:
            await queue.add(NAME, one)
        channel.done()
        await queue.close()

    asyncio.run(run())


def process(order: Order) -> None:
    """Run a worker until the harness has seen all jobs in ``completed``. The handlers do nothing but count."""
    count = itertools.count()

    def handle(job: Job) -> None:
        next(count)

    async def handle_async(job: aio.Job) -> None:
        next(count)

    def handle_batch(jobs: list[Job]) -> list[None]:
        for _ in jobs:
            next(count)
        return [None] * len(jobs)

    handlers: dict[str, Callable[..., Any]] = {"def": handle, "async def": handle_async}
    kind, options = order["handler"], order["worker"]
    if kind == "batch_handler":
        worker = Worker(order["queue"], url=order["url"], batch_handler=handle_batch, **options)
    else:
        worker = Worker(order["queue"], handlers[kind], url=order["url"], **options)

    def close_at_stop() -> None:
        channel.wait_for_stop()
        worker.close()

    channel.ready()
    waiting = threading.Thread(target=close_at_stop)
    waiting.start()
    worker.run()
    waiting.join()
    channel.done(handled=next(count))


TASKS: dict[str, Callable[[Order], None]] = {
    function.__name__: function for function in (add_bulk, add_arrow, add, add_async, process)
}


def main() -> None:
    channel.introduce(f"bullrush {_core.__version__}, Python {platform.python_version()}")
    while (order := channel.next_order()) is not None:
        TASKS[order["task"]](order)


if __name__ == "__main__":
    main()
