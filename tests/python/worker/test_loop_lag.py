"""An event loop that a handler blocks: health, metrics and the log say so."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Iterator

import pytest

from bullrush import Queue, Worker, aio
from bullrush.worker.running import loop_watch
from tests.waiting import wait_until

METRIC = "bullmq_worker_loop_lag_seconds"


def lag_of(worker: Worker) -> float:
    (value,) = re.findall(rf"^{METRIC}\{{[^}}]*\}} (\S+)$", worker.export_prometheus_metrics(), re.MULTILINE)
    return float(value)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.WARNING, "bullrush")
    return lambda: [text for record in caplog.records if "event loop" in (text := record.getMessage())]


def test_a_blocked_loop_is_in_health_metrics_and_once_in_the_log(
    queue: Queue,
    worker: Callable[..., Worker],
    gate: threading.Event,
    warnings: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop_watch, "_BLOCKED", 1.0)

    async def handle(job: aio.Job) -> None:
        if job.name == "blocks":
            gate.wait(30)
        else:
            await asyncio.to_thread(gate.wait, 30)

    running = worker(handle, autorun=True, concurrency=2)
    awaits = queue.add("awaits")
    wait_until(lambda: awaits.get_state() == "active")
    wait_until(lambda: running.health().loop_lag is not None, "it has been measured once")
    assert lag_of(running) < 1
    blocks = queue.add("blocks")
    wait_until(lambda: lag_of(running) > 1.5)
    lag = running.health().loop_lag
    assert lag is not None and lag > 1_000
    [warning] = warnings()
    assert f"Running: job {blocks.id} (blocks) of {queue.name}. Await" in warning
    gate.set()
    wait_until(lambda: queue.get_completed_count() == 2)
    wait_until(lambda: (running.health().loop_lag or 0) < 1_000, "it has answered again")
    assert lag_of(running) > 1.5, "the longest one of the last minute"
    assert len(warnings()) == 1


def test_each_blockade_has_a_warning_of_its_own(
    queue: Queue, worker: Callable[..., Worker], warnings: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_watch, "_BLOCKED", 0.1)
    gates = {"one": threading.Event(), "two": threading.Event()}

    async def handle(job: aio.Job) -> None:
        gates[job.name].wait(30)

    worker(handle, autorun=True)
    for number, (name, gate) in enumerate(gates.items(), 1):
        job = queue.add(name)
        wait_until(lambda number=number: len(warnings()) == number)
        gate.set()
        job.wait_until_finished(timeout=10_000)
    assert [re.findall(r"\((\w+)\)", warning) for warning in warnings()] == [["one"], ["two"]]


def test_a_task_that_a_handler_has_started_is_told_by_all_jobs_that_run(
    queue: Queue,
    worker: Callable[..., Worker],
    gate: threading.Event,
    warnings: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop_watch, "_BLOCKED", 0.1)
    monkeypatch.setattr(loop_watch, "_MOST_JOBS", 2)
    begun = []

    async def block() -> None:
        gate.wait(30)

    async def handle(job: aio.Job) -> None:
        begun.append(job.id)
        if len(begun) == 3:
            await asyncio.create_task(block())
        else:
            await asyncio.to_thread(gate.wait, 30)

    worker(handle, autorun=True, concurrency=3)
    queue.add_bulk([{"name": "n"}] * 3)
    wait_until(warnings)
    gate.set()
    assert re.search(r"Running: job \d \(n\) of \S+, \d \(n\) of \S+ and 1 more\. Await", warnings()[0])


def test_a_blocked_loop_of_asyncio_is_seen(
    queue: Queue, redis_url: str, warnings: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop is that of the program, and what supervises the worker runs outside of it."""
    monkeypatch.setattr(loop_watch, "_BLOCKED", 0.1)
    queue.add("n")

    async def handle(job: aio.Job) -> None:
        wait_until(warnings)

    async def main() -> str:
        async with aio.Worker(queue.name, handle, url=redis_url) as worker:
            await worker.run(until="empty")
            return await worker.export_prometheus_metrics()

    text = asyncio.run(main())
    assert len(warnings()) == 1
    assert float(re.findall(rf"^{METRIC}\{{[^}}]*\}} (\S+)$", text, re.MULTILINE)[0]) >= 0.1


def test_a_worker_without_a_loop_has_no_lag(queue: Queue, worker: Callable[..., Worker]) -> None:
    queue.add("n")
    plain = worker(lambda job: None)
    plain.run(until="empty")
    text = plain.export_prometheus_metrics()
    assert f"# TYPE {METRIC} gauge" in text and f"{METRIC}{{" not in text
