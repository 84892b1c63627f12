"""A shop in tasks: typed calls, a pool of the worker, a middleware that measures, a task that runs at its time, a test.

Needs ``pip install 'bullrush[embedded]'``. In production each worker is a process: ``bullrush worker shop:tasks``.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

from bullrush import Depends, Middleware, Tasks, aio, current_job, enqueue_many
from bullrush.url import resolve

URL = resolve("embedded://")  # a private server; with your own: URL = "redis://10.0.0.5:6379/0"


@dataclass
class Order:
    id: int
    total: Decimal


@dataclass
class Receipt:
    order: Order
    paid: datetime
    job: str


class Bank:
    """Stands for a client of a service, with connections."""

    def __init__(self) -> None:
        self.is_open = True

    async def charge(self, amount: Decimal) -> datetime:
        assert self.is_open, f"the bank is closed: {amount} were not paid"
        return datetime.now(timezone.utc)


@asynccontextmanager
async def open_bank() -> AsyncIterator[Bank]:
    bank = Bank()
    yield bank  # one for all jobs of a worker
    bank.is_open = False


class Timed(Middleware):
    """Measures each run."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def around(self, job: Any) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[job.name] = time.perf_counter() - began


timed = Timed()
tasks = Tasks("shop", url=URL, default_job_options={"attempts": 3}, middleware=[timed])


@tasks.task(timeout=30_000, backoff={"type": "exponential", "delay": 1_000})
async def charge(order: Order, *, bank: Bank = Depends(open_bank, scope="worker")) -> Receipt:
    return Receipt(order, await bank.charge(order.total), aio.current_job().id)


@tasks.task
def pack(order: Order, *, gift: bool = False) -> str:
    return f"{current_job().name}: order {order.id} in {'red' if gift else 'brown'} paper"


@tasks.cron("0 18 * * 1-5", tz="Europe/Berlin", remove_on_complete=True)
def close_the_till() -> None:
    """Runs by itself, on every working day at six."""


async def main() -> None:
    orders = [Order(number, Decimal("9.90") * number) for number in (1, 2, 3)]
    paying = await charge.using(priority=1).aenqueue(orders[0])
    packing = enqueue_many([pack.bind(order, gift=order.id == 2) for order in orders])
    async with aio.Worker(tasks, concurrency=10) as worker:  # coroutines on this loop, plain functions on threads
        await worker.run(until="empty")
    receipt = await paying.result(timeout=10_000)
    assert (receipt.order, receipt.job) == (orders[0], paying.id)
    assert [job.result() for job in packing][1] == "pack: order 2 in red paper"
    assert timed.seconds.keys() == {"charge", "pack"}
    print(receipt)


def test_packing() -> None:
    """A test needs no server: an eager registry runs a task at once."""
    tasks.eager = True
    assert pack.enqueue(Order(7, Decimal(1))).result() == "pack: order 7 in brown paper"


asyncio.run(main())
test_packing()
