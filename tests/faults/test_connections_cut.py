"""Connections end, are reset, or stop answering while they look open: workers and producers reconnect by themselves."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bullrush import Queue, Worker
from tests.waiting import wait_until
from tests.watching import is_connected

from .handlers import Handlers


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
    wait_until(lambda: queue.get_completed_count() == 300, "all jobs are done")
    ledger.check(own_redis, queue.name, duplicates=0)


def test_a_server_that_accepts_and_resets_is_retried_with_a_backoff(queue, proxy, work, own_redis):
    running = work()
    wait_until(lambda: is_connected(own_redis), "the worker waits")
    began = time.monotonic()
    before = proxy.accepted
    proxy.refuse(True)
    proxy.reset()
    wait_until(lambda: proxy.accepted >= before + 10, "it tries again and again")
    assert time.monotonic() - began > 0.7, "it retries too fast: one of its two connections was made five times"
    proxy.refuse(False)
    wait_until(lambda: running.connections > 0, "it is back")
    job = queue.add("quick")
    wait_until(lambda: job.get_state() == "completed", "it works")


def test_a_worker_whose_connections_an_operator_kills_goes_on(queue, own_redis, work, ledger):
    work(drain_delay=60_000)
    for number in range(5):
        wait_until(lambda: is_connected(own_redis), "the worker waits")
        own_redis.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        job = queue.add("quick", job_id=f"job-{number}")  # its connection was killed too
        wait_until(lambda job=job: job.get_state() == "completed", "it works", seconds=20)
    assert ledger.duplicates == 0


def test_a_wait_for_jobs_on_a_half_open_connection_is_given_up(queue, own_redis, proxy, work):
    """The proxy swallows only the connection that waits for jobs, so the server does not notice it."""
    work(drain_delay=500)
    wait_until(lambda: is_connected(own_redis), "the worker waits")
    proxy.swallow_waits(True)
    wait_until(lambda: proxy.swallowed >= 2, "it has reconnected and waits")
    proxy.swallow_waits(False)
    job = queue.add("quick")
    wait_until(lambda: job.get_state() == "completed", "it works")


def test_a_connection_that_swallows_everything_is_replaced_and_running_jobs_keep_their_locks(
    queue, proxy, work, ledger, tmp_path, caplog
):
    """Nothing gets through, no connection is closed. The locks last longer; the next connection sends the outcome."""
    gate = tmp_path / "gate"
    running = work(lock_duration=60_000, drain_delay=500)
    job = queue.add("gated", {"gate": str(gate)})
    wait_until(lambda: ledger.begun == [job.id], "the job runs")
    proxy.swallow(True)
    gate.touch()
    wait_until(lambda: ledger.ended == [job.id], "the handler has returned")
    wait_until(lambda: "the server stopped answering" in caplog.text, "the link connects anew")
    proxy.swallow(False)
    proxy.cut()
    wait_until(lambda: job.get_state() == "completed", "the outcome is stored")
    assert running.connections >= 1
    assert ledger.begun == [job.id]
