"""Connections end, are reset, or fall silent while they look alive: workers and producers repair them by themselves."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bullrush import Queue, Worker

from .handlers import Handlers
from .waiting import until
from .worker_process import is_connected


class Running:
    """A worker on a thread."""

    def __init__(self, queue: str, url: str, ledger, **options) -> None:
        self.worker = Worker(queue, Handlers(ledger), url=url, skip_stalled_check=True, **options)
        self.connections = 0
        self.worker.on("ready", self._count)
        self._thread = threading.Thread(target=self.worker.run)
        self._thread.start()

    def _count(self) -> None:
        self.connections += 1

    def end(self) -> None:
        self.worker.close()
        self._thread.join()


@pytest.fixture
def work(proxy, queue, ledger) -> Iterator[Callable[..., Running]]:
    started: list[Running] = []

    def start(**options) -> Running:
        started.append(Running(queue.name, proxy.url, ledger, **options))
        return started[-1]

    yield start
    for running in started:
        running.end()


@pytest.mark.parametrize("break_", ["cut", "reset"])
def test_broken_connections_under_load_lose_nothing_and_repeat_nothing(queue, own_redis, proxy, work, ledger, break_):
    work(concurrency=4)
    producer = Queue(queue.name, url=proxy.url)
    for round_ in range(10):
        for number in range(30):
            ledger.acknowledge([producer.add("quick", job_id=f"job-{round_}-{number}").id])
            if number == 10 + round_:
                getattr(proxy, break_)()
    until("all jobs are done", lambda: queue.get_completed_count() == 300)
    ledger.check(own_redis, queue.name, duplicates=0)


def test_a_server_that_accepts_and_resets_is_waited_for_without_haste(queue, proxy, work, own_redis):
    running = work()
    until("the worker waits", lambda: is_connected(own_redis))
    proxy.refuse(True)
    proxy.reset()
    before = proxy.accepted
    until("it has tried again", lambda: proxy.accepted >= before + 5)
    began = time.monotonic()
    before = proxy.accepted
    until("it goes on trying", lambda: proxy.accepted >= before + 2)
    assert time.monotonic() - began > 0.3, "it hammers"
    proxy.refuse(False)
    until("it is back", lambda: running.connections > 0)
    job = queue.add("quick")
    until("it works", lambda: job.get_state() == "completed")


def test_a_worker_whose_connections_an_operator_kills_goes_on(queue, own_redis, work, ledger):
    work(drain_delay=60_000)
    for number in range(5):
        until("the worker waits", lambda: is_connected(own_redis))
        own_redis.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        job = queue.add("quick", job_id=f"job-{number}")  # its connection was killed, too
        until("it works", lambda job=job: job.get_state() == "completed", seconds=5)
    assert ledger.duplicates == 0


def test_a_wait_for_jobs_on_a_half_open_connection_is_given_up(queue, own_redis, proxy, work):
    """The relay swallows what the marker connection carries, and only that: the server thinks that all is well."""
    work(drain_delay=500)
    until("the worker waits", lambda: is_connected(own_redis))
    proxy.swallow_waits(True)
    until("it has given up and waits anew", lambda: proxy.swallowed >= 2, seconds=15)
    proxy.swallow_waits(False)
    job = queue.add("quick")
    until("it works", lambda: job.get_state() == "completed")


@pytest.mark.timeout(90)
def test_a_black_hole_is_left_and_held_jobs_are_kept(queue, proxy, work, ledger, tmp_path, caplog):
    """Nothing gets through and nobody says so. The locks outlive it; the outcome is handed in on the next connection."""
    gate = tmp_path / "gate"
    running = work(lock_duration=60_000, drain_delay=500)
    job = queue.add("gated", {"gate": str(gate)})
    until("the job runs", lambda: ledger.begun == [job.id])
    proxy.swallow(True)
    gate.touch()
    until("the handler has returned", lambda: ledger.ended == [job.id])
    until("the link is given up", lambda: "the server stopped answering" in caplog.text, seconds=45)
    proxy.swallow(False)
    proxy.cut()
    until("the outcome is stored", lambda: job.get_state() == "completed")
    assert running.connections >= 1
    assert ledger.begun == [job.id]
