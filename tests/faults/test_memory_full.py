"""The server has reached its maxmemory: producers get an error, running work is not lost, and all continues later."""

import threading

import pytest

from bullrush import Queue, Worker, errors
from tests.waiting import wait_until

from .handlers import Handlers


def fill(redis) -> None:
    """Let the server refuse all commands that take memory."""
    redis.config_set("maxmemory", 1)


def make_room(redis) -> None:
    redis.config_set("maxmemory", "0")


def test_a_producer_gets_an_error_and_nothing_is_written(queue, own_redis):
    queue.add("quick")
    before = {key: own_redis.dump(key) for key in own_redis.scan_iter()}
    fill(own_redis)
    for add in (
        lambda: queue.add("quick"),
        lambda: queue.add("quick", delay=1000),
        lambda: queue.add("quick", priority=3),
        lambda: queue.add_bulk([{"name": "quick"}] * 10),
    ):
        with pytest.raises(errors.RedisServerError) as caught:
            add()
        assert caught.value.code == "OOM"
    make_room(own_redis)
    assert {key: own_redis.dump(key) for key in own_redis.scan_iter()} == before
    assert queue.add("quick").id == "2"


def gated(queue, gate) -> list[str]:
    """Add a job that completes, one that is retried at once and one that is retried later; return their ids."""
    fails = {"gate": str(gate), "fail": True}
    jobs = queue.add_bulk(
        [
            {"name": "gated", "data": {"gate": str(gate)}},
            {"name": "gated", "data": fails, "opts": {"attempts": 2}},
            {"name": "gated", "data": fails, "opts": {"attempts": 2, "backoff": 10}},
        ]
    )
    return [job.id for job in jobs]


def test_locks_are_renewed_and_outcomes_stored_on_a_full_server(queue, own_redis, ledger, server, tmp_path):
    gate = tmp_path / "gate"
    ids = gated(queue, gate)
    waiting = [job.id for job in queue.add_bulk([{"name": "quick"}] * 20)]
    ledger.acknowledge(ids + waiting)
    short_locks = {"lock_duration": 1500, "stalled_interval": 100}
    worker = Worker(queue.name, Handlers(ledger), url=server.url, concurrency=3, **short_locks)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: len(ledger.begun) == 3, "all slots are taken")
        fill(own_redis)
        for _ in range(3):  # 700 ms each: together longer than the locks last
            low = own_redis.pttl("bull:work:1:lock")
            wait_until(lambda low=low: own_redis.pttl("bull:work:1:lock") > low, "a lock is renewed")
            wait_until(lambda: own_redis.pttl("bull:work:1:lock") < 1400, "it runs down")
        gate.touch()
        wait_until(lambda: len(ledger.ended) >= 3, "the handlers have returned")
        make_room(own_redis)
        wait_until(lambda: queue.get_completed_count() == 23, "all jobs are done")
    finally:
        gate.touch()
        make_room(own_redis)
        worker.close()
        working.join()
    ledger.check(own_redis, queue.name, duplicates=2)
    assert {queue.get_job(job_id).stalled_counter for job_id in ids + waiting} == {0}
    assert [queue.get_job(job_id).attempts_made for job_id in ids] == [1, 2, 2]


def test_outcomes_wait_for_a_server_that_refuses_every_write(queue, own_redis, ledger, server, tmp_path, caplog):
    """Then no lock can be renewed either."""
    gate = tmp_path / "gate"
    worker = Worker(queue.name, Handlers(ledger), url=server.url, concurrency=3, lock_duration=60_000)
    ids = gated(queue, gate)
    ledger.acknowledge(ids)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: len(ledger.begun) == 3, "all slots are taken")
        own_redis.config_set("min-replicas-to-write", 1)
        gate.touch()
        wait_until(lambda: len(ledger.ended) >= 3, "the handlers have returned")
        wait_until(lambda: "outcomes wait: NOREPLICAS" in caplog.text, "outcomes were refused")
        assert queue.get_completed_count() == 0
        with pytest.raises(errors.RedisServerError, match="NOREPLICAS"):
            Queue("other", url=server.url).add("quick")
        own_redis.config_set("min-replicas-to-write", 0)
        wait_until(lambda: queue.get_completed_count() == 3, "all jobs are done")
    finally:
        own_redis.config_set("min-replicas-to-write", 0)
        worker.close()
        working.join()
    ledger.check(own_redis, queue.name, duplicates=2)
    assert [queue.get_job(job_id).attempts_made for job_id in ids] == [1, 2, 2]


def test_a_full_server_can_be_read_and_emptied(queue, own_redis, server):
    """By a queue object that is made when the server is already full."""
    queue.add_bulk([{"name": "quick", "opts": {"job_id": f"job{n}"}} for n in range(10)])
    fill(own_redis)
    late = Queue(queue.name, url=server.url)
    assert late.get_waiting_count() == 10
    assert late.get_job("job0").name == "quick"
    assert late.remove("job0") == 1
    late.pause()
    assert late.is_paused()
    assert len(late.clean(0, 3, "paused")) == 3
    late.drain()
    assert late.count() == 0
    late.obliterate()
    assert own_redis.keys() == []


def test_getters_write_nothing(server, own_redis):
    late = Queue("other", url=server.url)
    assert late.get_waiting_count() == 0
    assert late.get_job("1") is None
    assert own_redis.keys() == []
    late.add("quick")
    assert own_redis.hget("bull:other:meta", "opts.maxLenEvents") == "10000"
