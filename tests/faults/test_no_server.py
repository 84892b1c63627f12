"""Redis does not run yet, or no longer: producers get an error in time, workers keep trying, and nothing hangs."""

import asyncio
import random
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bullrush import Queue, Worker, aio, errors
from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

from .handlers import Handlers


@pytest.fixture
def port() -> int:
    """Return a port without a listener, below the range of outgoing connections, so that none of them takes it."""
    while True:
        port = random.SystemRandom().randrange(7000, 10000)
        with socket.socket() as knock:
            try:
                knock.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@pytest.fixture
def url(port) -> str:
    return f"redis://127.0.0.1:{port}/0"


def test_a_producer_without_a_server_gets_an_error_after_its_deadline(url, port):
    queue = Queue("work", url=url, timeout=300)
    began = time.monotonic()
    with pytest.raises(errors.ConnectionLostError) as caught:
        queue.add("quick")
    assert 0.25 < time.monotonic() - began < 8
    assert f"127.0.0.1:{port}" in str(caught.value)
    assert "nothing was sent" in str(caught.value)


def test_every_call_of_a_queue_keeps_the_deadline(url):
    queue = Queue("work", url=url, timeout=100)
    calls = [
        lambda: queue.add_bulk([{"name": "quick"}] * 1000),
        queue.wait_until_ready,
        queue.get_job_counts,
        lambda: queue.get_job("1"),
        queue.pause,
        lambda: queue.obliterate(force=True),
        lambda: queue.get_jobs(["waiting"]),
    ]
    for call in calls:
        began = time.monotonic()
        with pytest.raises(errors.ConnectionLostError):
            call()
        assert time.monotonic() - began < 8, "less than the default of 10 s"


@pytest.mark.parametrize("scheme", ["redis", "redis+sentinel", "redis+cluster"])
def test_the_waits_of_calls_that_come_together_do_not_add_up(scheme):
    with socket.create_server(("127.0.0.1", 0), backlog=200) as silent:
        url = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}" + ("/main" if scheme == "redis+sentinel" else "")
        queue = Queue("{work}", url=url, timeout=500)
        began = time.monotonic()
        with ThreadPoolExecutor(20) as threads:
            calls = [threads.submit(queue.add, "quick") for _ in range(20)]
        assert all(isinstance(call.exception(), errors.ConnectionLostError) for call in calls)
        assert time.monotonic() - began < 5, "one after the other they take 10 s"
        queue.close()


def test_a_password_is_never_shown(port):
    queue = Queue("work", url=f"redis://user:secret@127.0.0.1:{port}/0", timeout=50)
    with pytest.raises(errors.ConnectionLostError) as caught:
        queue.add("quick")
    assert "secret" not in f"{caught.value!r} {queue!r}"


def test_an_asyncio_producer_gets_an_error_after_its_deadline(url):
    async def add() -> None:
        await aio.Queue("work", url=url, timeout=200).add("quick")

    with pytest.raises(errors.ConnectionLostError):
        asyncio.run(add())


def test_a_producer_that_waits_for_a_late_server_gets_it(url, port):
    queue = Queue("work", url=url, timeout=20_000)
    added: list[str] = []
    adding = threading.Thread(target=lambda: added.append(queue.add("quick").id))
    adding.start()
    with pytest.raises(errors.ConnectionLostError):
        Queue("work", url=url, timeout=100).add("quick")
    with EmbeddedRedis(port=port, password=""):
        adding.join(20)
    assert added == ["1"]


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what workers logged as a warning, without the name of the worker and the number of the system's error.

    The proxy of a test logs warnings too, as ``asyncio``.
    """
    warnings = [one for one in list(caplog.records) if one.levelname == "WARNING" and one.name == "bullrush.worker"]
    texts = [one.getMessage().partition(">: ")[2] for one in warnings]
    return [re.sub(r" \(os error \d+\)", "", text) for text in texts]


def test_a_worker_logs_each_outage_once_and_its_end_once(proxy, ledger, caplog):
    worker = Worker("work", Handlers(ledger), url=proxy.url)
    place = proxy.url.split("/")[2]
    ready = threading.Event()
    worker.on("ready", ready.set)
    working = threading.Thread(target=worker.run)
    working.start()
    assert ready.wait(20)
    assert logged(caplog) == []
    for outages in (1, 2):
        proxy.refuse(True)
        before = proxy.accepted
        proxy.cut()
        wait_until(lambda before=before: proxy.accepted > before + 5, "it tried again and again")
        wait_until(lambda outages=outages: len(logged(caplog)) >= 2 * outages - 1, "the outage is logged")
        assert len(logged(caplog)) == 2 * outages - 1
        proxy.refuse(False)
        wait_until(lambda outages=outages: len(logged(caplog)) == 2 * outages, "it is connected again")
    worker.close()
    working.join()
    lost, back = logged(caplog)[2:]
    assert re.fullmatch(rf"cannot reach Redis at {place} \(.+\)\. The worker tries again until it can", lost)
    assert back == f"connected to Redis at {place}"


def test_the_log_of_an_outage_shows_no_password(port, caplog):
    caplog.set_level("DEBUG")
    with Worker("work", lambda job: None, url=f"redis://user:secret@127.0.0.1:{port}/0", autorun=True):
        wait_until(lambda: f"cannot reach Redis at 127.0.0.1:{port} (" in caplog.text, "it is logged")
    assert "secret" not in caplog.text


def test_a_worker_without_a_server_logs_it_and_works_once_there_is_one(url, port, ledger, caplog):
    worker = Worker("work", Handlers(ledger), url=url)
    ready = threading.Event()
    tries: list[Exception] = []
    worker.on("ready", ready.set)
    worker.on("error", tries.append)
    working = threading.Thread(target=worker.run)
    working.start()
    wait_until(lambda: len(tries) >= 4, "it tried again and again")
    assert logged(caplog) == [
        f"cannot reach Redis at 127.0.0.1:{port} (Connection refused). The worker tries again until it can"
    ]
    with EmbeddedRedis(port=port, password="") as server:
        assert ready.wait(20)
        job = Queue("work", url=server.url).add("quick")
        wait_until(lambda: job.get_state() == "completed", "it works")
        worker.close()
        working.join()


def ends_within(seconds: float, worker: Worker, end) -> None:
    """Assert that a running worker without a server can be ended."""
    outcomes: list[object] = []
    working = threading.Thread(target=lambda: outcomes.append(worker.run()))
    working.start()
    wait_until(worker.is_running, "it runs")
    end(worker)
    working.join(seconds)
    assert outcomes, "it hangs"


@pytest.mark.parametrize("force", [False, True], ids=["gracefully", "by_force"])
def test_a_worker_without_a_server_can_be_closed(url, force):
    ends_within(5, Worker("work", lambda job: None, url=url), lambda worker: worker.close(force=force))


def test_a_worker_of_asyncio_without_a_server_can_be_closed(url):
    async def handler(job) -> None: ...

    async def run() -> None:
        worker = aio.Worker("work", handler, url=url)
        running = asyncio.create_task(worker.run())
        await asyncio.sleep(0.1)
        await worker.close()
        await running

    asyncio.run(asyncio.wait_for(run(), 10))


def test_a_worker_without_a_server_ends_after_its_time(url):
    worker = Worker("work", lambda job: None, url=url)
    began = time.monotonic()
    worker.run(max_seconds=0.3)
    assert time.monotonic() - began < 5


def test_a_terminated_worker_without_a_server_ends(url, start_worker):
    process = start_worker(url)
    wait_until(lambda: process.has_said("refused"), "it logs the error")
    process.terminate()
    assert process.wait(20) == 0


def test_a_worker_whose_server_is_gone_can_be_closed_when_idle(server, ledger, queue):
    worker = Worker(queue.name, Handlers(ledger), url=server.url, drain_delay=300)
    job = queue.add("quick")
    working = threading.Thread(target=worker.run)
    working.start()
    wait_until(lambda: job.get_state() == "completed", "it works")
    server.kill()
    closing = threading.Thread(target=worker.close)
    closing.start()
    closing.join(20)
    working.join(20)
    assert not closing.is_alive()
    assert not working.is_alive()


def test_a_worker_whose_server_is_gone_keeps_its_outcomes_until_it_is_back(lasting_server, ledger, client_of, tmp_path):
    gate = tmp_path / "gate"
    queue = Queue("work", url=lasting_server.url)
    worker = Worker(queue.name, Handlers(ledger), url=lasting_server.url, lock_duration=60_000)
    job = queue.add("gated", {"gate": str(gate)})
    working = threading.Thread(target=worker.run)
    working.start()
    wait_until(lambda: ledger.begun == [job.id], "the job runs")
    lasting_server.kill()
    gate.touch()
    wait_until(lambda: ledger.ended == [job.id], "the handler has returned")
    closing = threading.Thread(target=worker.close)
    closing.start()
    lasting_server.restart()
    closing.join(20)
    working.join(20)
    assert job.get_state() == "completed"
    assert ledger.begun == [job.id]


def test_a_worker_whose_server_is_gone_ends_at_its_deadline_with_outcomes_in_hand(lasting_server, ledger, tmp_path):
    gate = tmp_path / "gate"
    queue = Queue("work", url=lasting_server.url)
    worker = Worker(queue.name, Handlers(ledger), url=lasting_server.url)
    job = queue.add("gated", {"gate": str(gate)})
    working = threading.Thread(target=worker.run)
    working.start()
    wait_until(lambda: ledger.begun == [job.id], "the job runs")
    lasting_server.kill()
    gate.touch()
    wait_until(lambda: ledger.ended == [job.id], "the handler has returned")
    closing = threading.Thread(target=worker.close, kwargs={"timeout": 500})
    closing.start()
    closing.join(20)
    working.join(20)
    assert not working.is_alive()


def test_a_worker_waits_for_a_server_that_accepts_no_more_clients(server, own_redis, ledger):
    own_redis.config_set("maxclients", 1)
    with pytest.raises(errors.ConnectionLostError):
        Queue("work", url=server.url, timeout=300).add("quick")
    worker = Worker("work", Handlers(ledger), url=server.url)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: own_redis.info("stats")["rejected_connections"] > 3, "it has tried")
        own_redis.config_set("maxclients", 100)
        job = Queue("work", url=server.url).add("quick")
        wait_until(lambda: job.get_state() == "completed", "it works")
    finally:
        worker.close()
        working.join()
