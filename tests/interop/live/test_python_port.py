"""BullMQ's own port for Python beside bullrush: each side works what the other adds, and reads how it ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bullrush import Queue
from tests.waiting import wait_until

from .our_worker import work_off

bullmq = pytest.importorskip("bullmq", reason="BullMQ's port for Python is not installed: pip install --group test")

from tests.interop.sides.python_port import PortQueue  # noqa: E402

VALUES = [{"n": 1, "text": "ä☃", "none": None}, [1, 2.5, True], "text", 0, None]


@pytest.fixture
def port(queue_name: str, redis_url: str) -> PortQueue:
    """The test's queue, used by the port."""
    return PortQueue(queue_name, redis_url)


async def echo(job: Any, token: str) -> Any:
    return job.data


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_our_worker_runs_what_the_port_adds(port: PortQueue, queue_name: str, redis_url: str, value: Any) -> None:
    id = port.add("work", value)
    got = []
    work_off(queue_name, redis_url, lambda job: got.append((job.id, job.name, job.data)) or job.data)
    assert got == [(id, "work", value)]
    assert port.job(id).returnvalue == value
    assert port.call("getJobState", id) == "completed"


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_the_port_runs_what_we_add(port: PortQueue, ours: Queue, value: Any) -> None:
    job = ours.add("work", value)
    with port.worker(echo):
        wait_until(lambda: ours.get_completed_count() == 1)
    done = ours.get_job(job.id)
    assert done is not None and (done.data, done.returnvalue) == (value, value)
    assert (done.attempts_made, done.attempts_started) == (1, 1)


def test_the_port_reads_a_failure_of_our_worker(port: PortQueue, ours: Queue, queue_name: str, redis_url: str) -> None:
    def fail(job: Any) -> None:
        raise ValueError("no such user")

    id = port.add("work", {}, attempts=2)
    work_off(queue_name, redis_url, fail)
    read = port.job(id)
    assert (read.failedReason, read.attemptsMade) == ("no such user", 2)
    assert len(read.stacktrace) == 2 and "ValueError: no such user" in read.stacktrace[-1]
    assert port.call("getJobCounts", "failed", "waiting") == {"failed": 1, "waiting": 0}


def test_we_read_a_failure_of_the_port(port: PortQueue, ours: Queue) -> None:
    async def fail(job: Any, token: str) -> None:
        raise ValueError("no such user")

    job = ours.add("work", {}, attempts=2)
    with port.worker(fail):
        wait_until(lambda: ours.get_failed_count() == 1)
    failed = ours.get_job(job.id)
    assert failed is not None and (failed.failed_reason, failed.attempts_made) == ("no such user", 2)
    assert failed.stacktrace and "no such user" in failed.stacktrace[-1]


def test_a_failure_that_no_retry_mends_ends_the_job_at_once(port: PortQueue, ours: Queue) -> None:
    async def give_up(job: Any, token: str) -> None:
        raise bullmq.UnrecoverableError("hopeless")

    job = ours.add("work", {}, attempts=5)
    with port.worker(give_up):
        wait_until(lambda: ours.get_failed_count() == 1)
    failed = ours.get_job(job.id)
    assert failed is not None and (failed.failed_reason, failed.attempts_made) == ("hopeless", 1)


def test_a_job_that_failed_in_the_port_and_is_retried_is_done_by_us(
    port: PortQueue, ours: Queue, queue_name: str, redis_url: str
) -> None:
    async def fail(job: Any, token: str) -> None:
        raise ValueError("not today")

    id = port.add("work", {"n": 1})
    with port.worker(fail):
        wait_until(lambda: ours.get_failed_count() == 1)
    ours.get_job(id).retry()
    work_off(queue_name, redis_url, lambda job: "done")
    assert port.job(id).returnvalue == "done"


def test_options_of_a_job_mean_the_same(port: PortQueue, ours: Queue, queue_name: str, redis_url: str) -> None:
    plain, urgent, first = port.add("work", {}), port.add("work", {}, priority=1), port.add("work", {}, lifo=True)
    later = port.add("work", {}, delay=3_600_000)
    own = port.add("work", {}, jobId="mine")
    assert own == "mine" and port.add("work", {}, jobId="mine") == "mine"
    ran: list[str] = []
    work_off(queue_name, redis_url, lambda job: ran.append(job.id))
    assert ran == [first, plain, "mine", urgent]
    assert ours.get_job(later).get_state() == port.call("getJobState", later) == "delayed"


def test_both_work_the_same_queue_and_each_job_runs_once(
    port: PortQueue, ours: Queue, queue_name: str, redis_url: str
) -> None:
    ran: list[str] = []

    async def run(job: Any, token: str) -> None:
        ran.append(job.id)
        await asyncio.sleep(0.001)

    added = [ours.add("work", {}).id if n % 2 else port.add("work", {}) for n in range(40)]
    with port.worker(run, concurrency=2):
        work_off(queue_name, redis_url, lambda job: ran.append(job.id))
        wait_until(lambda: ours.get_completed_count() == len(added))
    assert sorted(ran) == sorted(added)


@pytest.mark.parametrize("pauser", ["ours", "port"])
def test_no_job_is_lost_when_one_side_pauses_and_the_other_resumes(
    port: PortQueue, ours: Queue, queue_name: str, redis_url: str, pauser: str
) -> None:
    added = {port.add("work", {}), ours.add("work").id}
    ours.pause() if pauser == "ours" else port.call("pause")
    assert ours.is_paused() and port.call("isPaused")
    added |= {port.add("work", {}), ours.add("work").id}
    assert work_off(queue_name, redis_url).completed == 0
    port.call("resume") if pauser == "ours" else ours.resume()
    ran: list[str] = []
    work_off(queue_name, redis_url, lambda job: ran.append(job.id))
    assert sorted(ran) == sorted(added)


def test_a_flow_of_the_port_is_worked_by_both(port: PortQueue, ours: Queue, queue_name: str, redis_url: str) -> None:
    child = {"name": "child", "queueName": queue_name, "data": {"n": 1}, "opts": {"jobId": "c"}}
    port.add_flow({"name": "root", "queueName": queue_name, "data": {}, "opts": {"jobId": "p"}, "children": [child]})
    work_off(queue_name, redis_url, lambda job: job.data, max_jobs=1)
    assert ours.get_job("p").get_children_values() == {f"bull:{queue_name}:c": {"n": 1}}

    async def collect(job: Any, token: str) -> Any:
        return list((await job.getChildrenValues()).values())

    with port.worker(collect):
        wait_until(lambda: ours.get_completed_count() == 2)
    assert ours.get_job("p").returnvalue == [{"n": 1}]
