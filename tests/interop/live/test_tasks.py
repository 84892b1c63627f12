"""Tasks are plain BullMQ jobs: Node works those that we enqueue, and tasks run the jobs that Node adds."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal

import pytest

from bullrush import Tasks, Worker, enqueue_many

NOON = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)


@dataclass
class Order:
    """Also what the processor in Node returns: it returns the data of the job."""

    id: int
    placed: datetime
    total: Decimal = Decimal(0)


@pytest.fixture
def tasks(redis_url: str, queue_name: str) -> Iterator[Tasks]:
    registry = Tasks(queue_name, url=redis_url)
    yield registry
    registry.close()


def test_node_works_a_task_and_its_result_has_the_type_of_the_function(tasks, theirs):
    @tasks.task(attempts=4)
    def order(id: int, placed: datetime, total: Decimal) -> Order:
        raise AssertionError("Node runs it")

    job = order.enqueue(7, NOON, total=Decimal("1.10"))
    many = enqueue_many([order.bind(n, NOON, Decimal(n)) for n in range(3)])
    stored = theirs.job(job.id)
    assert (stored["name"], stored["opts"]["attempts"]) == ("order", 4)
    assert stored["data"] == {"id": 7, "placed": "2024-02-29T12:00:00Z", "total": "1.10"}
    theirs.work()
    assert job.result(5_000) == Order(7, NOON, Decimal("1.10"))
    assert [one.result(5_000).id for one in many] == [0, 1, 2]


def test_a_task_runs_a_job_that_node_added_and_node_reads_its_result(tasks, theirs):
    @tasks.task
    async def ship(order: Order, *, express: bool = False) -> Order:
        return Order(order.id, order.placed, order.total + (5 if express else 1))

    data = {"id": 7, "placed": "2024-02-29T12:00:00.000Z", "total": "2.50"}
    plain = theirs.add("ship", {"order": data})
    express = theirs.add("ship", {"order": data, "express": True})
    wrong = theirs.add("ship", {"order": {**data, "id": "seven"}}, attempts=3)
    with Worker(tasks) as worker:
        stats = worker.run(until="empty")
    assert (stats.completed, stats.failed) == (2, 1)
    assert theirs.job(plain)["returnvalue"] == {"id": 7, "placed": "2024-02-29T12:00:00Z", "total": "3.50"}
    assert theirs.job(express)["returnvalue"]["total"] == "7.50"
    assert "data.order.id" in theirs.job(wrong)["failedReason"]


def test_node_reads_the_job_scheduler_of_a_cron_task(tasks, theirs):
    tasks.cron("0 9 * * 1-5", tz="Europe/Berlin", name="digest")(lambda: None)
    with Worker(tasks) as worker:
        worker.run(until="empty")
    (made,) = theirs.call("getJobSchedulers")
    assert (made["key"], made["name"], made["pattern"], made["tz"]) == (
        "digest",
        "digest",
        "0 9 * * 1-5",
        "Europe/Berlin",
    )
