"""bullrush as a peer: workers. A worker runs until the harness finds the expected state in Redis."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from benches.peers import channel
from benches.peers.channel import Order
from bullrush import Worker, aio
from bullrush.job import Job


class Handlers:
    """The handlers by kind and action. They only count their jobs."""

    def __init__(self, order: Order) -> None:
        self.count = itertools.count()
        self.latencies: list[float] = []
        self._seconds = order.get("sleep", 0) / 1000

    def handler(self, kind: str, act: str) -> Callable[..., Any]:
        """Return the handler of this kind."""
        name = {"def": act, "async def": f"{act}_async", "batch_handler": f"{act}_batch"}[kind]
        found: Callable[..., Any] = getattr(self, name)
        return found

    def noop(self, job: Job) -> None:
        next(self.count)

    async def noop_async(self, job: aio.Job) -> None:
        next(self.count)

    def noop_batch(self, jobs: list[Job]) -> list[None]:
        for _ in jobs:
            next(self.count)
        return [None] * len(jobs)

    def sleep(self, job: Job) -> None:
        time.sleep(self._seconds)
        next(self.count)

    async def sleep_async(self, job: aio.Job) -> None:
        await asyncio.sleep(self._seconds)
        next(self.count)

    def report(self, job: Job) -> None:
        job.update_progress(50)
        job.log("half")
        next(self.count)

    def record(self, job: Job) -> None:
        self.latencies.append(time.monotonic_ns() / 1000 - job.data["sent"])
        next(self.count)

    async def record_async(self, job: aio.Job) -> None:
        self.latencies.append(time.monotonic_ns() / 1000 - job.data["sent"])
        next(self.count)


def process(order: Order) -> None:
    handlers = Handlers(order)
    kind, options = order["handler"], order["worker"]
    handler = handlers.handler(kind, order.get("act", "noop"))
    if kind == "batch_handler":
        worker = Worker(order["queue"], url=order["url"], batch_handler=handler, **options)
    else:
        worker = Worker(order["queue"], handler, url=order["url"], **options)
    run_until_stop(worker)
    channel.done(handled=next(handlers.count), latencies=handlers.latencies)


def by_hand(order: Order) -> None:
    """Fetch each job with a call of its own, and complete it with another one."""
    handled = 0
    with Worker(order["queue"], url=order["url"]) as worker:
        channel.ready()
        while (job := worker.get_next_job("bench", block=False)) is not None:
            job.move_to_completed(None, "bench", fetch_next=False)
            handled += 1
        channel.wait_for_stop()
    channel.done(handled=handled)


def hold(order: Order) -> None:
    """Take all jobs and keep them until the stop."""
    count = itertools.count()
    released = concurrent.futures.Future[None]()

    async def handle(job: aio.Job) -> None:
        next(count)
        await asyncio.wrap_future(released)

    worker = Worker(
        order["queue"], handle, url=order["url"], concurrency=order["concurrency"], lock_duration=order["lock_duration"]
    )
    run_until_stop(worker, lambda: released.set_result(None))
    channel.done(handled=next(count))


def check_stalled(order: Order) -> None:
    """Look for stalled jobs of a queue that is paused."""
    worker = Worker(order["queue"], lambda job: None, url=order["url"], stalled_interval=order["interval"])
    run_until_stop(worker)
    channel.done()


def wake(order: Order) -> None:
    """Run many workers with one slot each; their handlers record when they start."""
    starts: list[float] = []

    def handle(job: Job) -> None:
        starts.append(time.monotonic_ns() / 1000)
        time.sleep(order["sleep"] / 1000)

    options: dict[str, Any] = {"url": order["url"], "prefetch": 0, "fan_out": order["fan_out"], "autorun": True}
    channel.ready()
    workers = [Worker(order["queue"], handle, **options) for _ in range(order["workers"])]
    channel.wait_for_stop()
    for worker in workers:
        worker.close()
    channel.done(starts=starts)


def run_until_stop(worker: Worker, first: Callable[[], None] = lambda: None) -> None:
    """Run a worker until the harness says stop; call ``first`` before it is closed."""

    def close_at_stop() -> None:
        channel.wait_for_stop()
        first()
        worker.close()

    channel.ready()
    waiting = threading.Thread(target=close_at_stop)
    waiting.start()
    worker.run()
    waiting.join()


TASKS = (process, by_hand, hold, check_stalled, wake)
