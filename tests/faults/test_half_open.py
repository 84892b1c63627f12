"""Connections that look open and are not, and servers that answer strangely: noticed in seconds, without a hot loop."""

import logging
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from bullrush import Queue, Worker, errors
from tests.waiting import wait_until
from tests.watching import is_connected

from .handlers import Handlers

#: Seconds in which a half-open connection is noticed. Here it may take longer, since other tests run at the same time.
NOTICED = 5 + 5


@pytest.fixture
def work(proxy, queue, ledger) -> Iterator[Callable[..., Worker]]:
    started: list[tuple[Worker, threading.Thread]] = []

    def start(**options) -> Worker:
        worker = Worker(queue.name, Handlers(ledger), url=proxy.url, skip_stalled_check=True, **options)
        started.append((worker, threading.Thread(target=worker.run)))
        started[-1][1].start()
        return worker

    yield start
    for worker, thread in started:
        worker.close()
        thread.join()


def test_a_worker_with_a_job_in_hand_notices_that_its_connections_are_half_open(
    queue, own_redis, proxy, work, ledger, tmp_path, caplog
):
    """It holds a lock: nothing else has to happen."""
    gate = tmp_path / "gate"
    work(concurrency=2, drain_delay=60_000)
    job = queue.add("gated", {"gate": str(gate)})
    wait_until(lambda: ledger.begun and is_connected(own_redis), "it runs one and waits for another")
    before, began = proxy.accepted, time.monotonic()
    proxy.half_open()
    wait_until(lambda: "the server stopped answering" in caplog.text and proxy.accepted >= before + 2, "both are new")
    assert time.monotonic() - began < NOTICED
    gate.touch()
    wait_until(lambda: job.get_state() == "completed", "the outcome is stored")
    assert ledger.begun == [job.id]


def test_an_idle_worker_finds_the_job_whose_fetch_got_lost_on_a_half_open_connection(
    queue, own_redis, proxy, work, ledger
):
    work(drain_delay=60_000)
    wait_until(lambda: is_connected(own_redis), "it waits")
    proxy.half_open(waits=False)
    began = time.monotonic()
    job = queue.add("quick")
    wait_until(lambda: job.get_state() == "completed", "it works")
    assert time.monotonic() - began < NOTICED
    assert ledger.begun == [job.id]


def test_a_closing_worker_gives_back_the_jobs_of_a_fetch_on_a_connection_that_went_silent(
    queue, own_redis, proxy, work, ledger
):
    """A plain wait for the reply ends after a second, long before anybody notices that the connection is silent."""
    worker = work(drain_delay=60_000)
    wait_until(lambda: is_connected(own_redis), "it waits")
    held = proxy.hold_request("move_to_active")
    job = queue.add("quick")
    assert held.held.wait(10)
    closing = threading.Thread(target=worker.close)
    closing.start()
    held.deliver()
    closing.join()
    assert (job.get_state(), ledger.begun) == ("waiting", [])


@pytest.mark.parametrize("cause", ["half open", "clock set back"])
def test_a_wait_for_jobs_that_never_ends_is_given_up_whatever_the_drain_delay(
    queue, own_redis, proxy, work, ledger, cause
):
    """The server pops the marker of the job for a client that gets nothing: nothing else announces the job."""
    proxy.swallow_waits(cause == "clock set back")
    worker = work(drain_delay=60_000)
    wait_until(lambda: proxy.swallowed or is_connected(own_redis), "it waits")
    if cause == "half open":
        proxy.half_open(calls=False)
    began = time.monotonic()
    job = queue.add("quick")
    wait_until(lambda: job.get_state() == "completed", "it works")
    assert time.monotonic() - began < NOTICED
    proxy.swallow_waits(False)
    assert ledger.begun == [job.id]
    wait_until(lambda: worker.health().healthy)


def test_a_producer_gets_an_error_in_its_time_and_goes_on(queue, proxy):
    producer = Queue(queue.name, url=proxy.url, timeout=500)
    producer.add("quick")
    proxy.half_open()
    began = time.monotonic()
    with pytest.raises(errors.OutcomeUnknownError):
        producer.add("quick")
    assert time.monotonic() - began < NOTICED / 2
    waiting = Queue(queue.name, url=proxy.url, timeout=20_000)
    assert waiting.add("quick", job_id="mine").id == "mine"
    assert time.monotonic() - began < NOTICED


def test_a_server_that_stops_for_seconds_leaves_no_outcome_unknown(server, queue, own_redis):
    """The connection may be half open, so another one is made. The call waits on both, and its reply comes."""
    producer = Queue(queue.name, url=server.url, timeout=60_000)
    producer.add("quick")
    added: list[object] = []
    adding = threading.Thread(target=lambda: added.append(producer.add("quick")))
    before = own_redis.info("clients")["connected_clients"]
    own_redis.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
    adding.start()
    wait_until(lambda: own_redis.info("clients")["connected_clients"] > before, "another connection is made")
    own_redis.execute_command("CLIENT", "UNPAUSE")
    adding.join()
    assert added and queue.get_waiting_count() == 2


def test_waits_that_end_at_once_make_no_hot_loop(queue, own_redis, proxy, work):
    """The clock of the server is set forward in each of them."""
    proxy.answer_waits(True)
    work(drain_delay=60_000)
    wait_until(lambda: proxy.answered, "it waits")
    began, before = time.monotonic(), proxy.answered
    wait_until(lambda: proxy.answered >= before + 10, "it waits again")
    assert time.monotonic() - began > 0.5
    proxy.answer_waits(False)
    wait_until(lambda: is_connected(own_redis), "it waits on the server")
    job = queue.add("quick")
    wait_until(lambda: job.get_state() == "completed", "it works")


def test_a_server_that_takes_connections_and_closes_them_at_the_first_call_is_one_outage_without_a_hot_loop(
    queue, own_redis, proxy, work, caplog
):
    work(drain_delay=200)
    wait_until(lambda: is_connected(own_redis), "it waits")
    proxy.hang_up(True)
    began, before = time.monotonic(), proxy.accepted
    wait_until(lambda: proxy.accepted >= before + 5, "it tries again and again")
    assert time.monotonic() - began > 0.4
    wait_until(lambda: proxy.accepted >= before + 10, "it goes on trying")
    reported = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len([text for text in reported if "cannot reach Redis" in text]) <= 2
    assert len([text for text in reported if "connected to Redis" in text]) <= 1
    proxy.hang_up(False)
    job = queue.add("quick")
    wait_until(lambda: job.get_state() == "completed", "it works")


def test_a_primary_that_came_back_as_a_replica_is_asked_rarely_and_worked_as_soon_as_it_is_one_again(
    queue, own_redis, proxy, work, ledger, tmp_path
):
    """The worker holds a job and reads on the replica: that must not make it ask again and again."""
    gate = tmp_path / "gate"
    work(concurrency=2, drain_delay=200)
    job = queue.add("gated", {"gate": str(gate)})
    wait_until(lambda: ledger.begun and is_connected(own_redis), "it runs one and waits for another")
    own_redis.execute_command("REPLICAOF", "127.0.0.1", 1)
    own_redis.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    began, before = time.monotonic(), proxy.accepted
    wait_until(lambda: proxy.accepted >= before + 7, "it tries again and again")
    assert time.monotonic() - began > 0.4
    own_redis.execute_command("REPLICAOF", "NO", "ONE")
    gate.touch()
    wait_until(lambda: job.get_state() == "completed", "the outcome is stored")
    another = queue.add("quick")
    wait_until(lambda: another.get_state() == "completed", "it works")
