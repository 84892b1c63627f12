"""A worker repairs job schedulers that lost their next job."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker, _core
from tests.waiting import wait_until
from tests.watching import commands_about

HOUR = 3_600_000


@pytest.fixture
def base(queue_name: str) -> str:
    return f"bull:{queue_name}:"


@pytest.fixture
def an_hour_ago(queue: Queue, redis: Redis, base: str) -> Callable[..., str]:
    """Create a scheduler an hour ago; its job is lost by default. Returns the id of that job."""

    def create(repeat: dict[str, Any], template: Any = None, *, scheduler_id: str = "s", lost: bool = True) -> str:
        _core.stop_clock(_core.now_ms() - HOUR)
        job = queue.upsert_job_scheduler(scheduler_id, repeat, template)  # type: ignore[arg-type]
        _core.stop_clock(None)
        assert job is not None
        if lost:
            redis.delete(base + job.id)
            redis.lrem(f"{base}wait", 0, job.id)
            redis.zrem(f"{base}delayed", job.id)
            redis.zrem(f"{base}prioritized", job.id)
        return job.id

    return create


@pytest.fixture
def watch(worker: Callable[..., Worker]) -> Callable[[int], tuple[list[str], list[str]]]:
    """Run a worker until it has repaired and run this many (0 repairs: half a second); return what it did."""

    def run(repairs: int, runs: int = 0) -> tuple[list[str], list[str]]:
        repaired: list[str] = []
        ran: list[str] = []
        made = worker(lambda job: ran.append(job.id))
        made.on("scheduler_repaired", repaired.append)
        running = threading.Thread(target=made.run)
        running.start()
        deadline = time.monotonic() + (30 if repairs else 0.5)
        while time.monotonic() < deadline and not (0 < repairs <= len(repaired) and runs <= len(ran)):
            time.sleep(0.01)
        made.close()
        running.join()
        return repaired, ran

    return run


@pytest.mark.parametrize(
    "repeat", [{"every": 60_000}, {"pattern": "* * * * *", "tz": "Asia/Tokyo", "dst": "bullmq"}], ids=str
)
def test_a_scheduler_that_lost_its_job_continues(
    queue: Queue,
    watch: Any,
    an_hour_ago: Callable[..., str],
    repeat: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lost = an_hour_ago(
        repeat, {"name": "tick", "data": {"n": 1}, "opts": {"attempts": 3, "backoff": 50, "priority": 2}}
    )
    phase = int(lost.rpartition(":")[2]) % 60_000
    with caplog.at_level(logging.WARNING, "bullrush"):
        repaired, _ = watch(1)
    assert repaired == ["s"]
    assert "Job scheduler s had no next job" in caplog.text
    [job] = queue.get_delayed()
    due = int(job.id.rpartition(":")[2])
    assert _core.now_ms() - 1000 < due <= _core.now_ms() + 120_000
    assert due % 60_000 == phase
    assert (job.name, job.data, job.repeat_job_key, job.priority) == ("tick", {"n": 1}, "s", 2)
    options = {key: job.opts[key] for key in ("attempts", "backoff", "priority", "repeat")}
    assert options == {
        "attempts": 3,
        "backoff": {"type": "fixed", "delay": 50},
        "priority": 2,
        "repeat": {**repeat, "count": 2},
    }
    scheduler = queue.get_job_scheduler("s")
    assert scheduler is not None
    assert (scheduler["next"], scheduler["iteration_count"]) == (due, 2)
    assert queue.get_job(lost) is None


def test_a_scheduler_whose_job_ran_without_a_next_job_continues(
    queue: Queue, watch: Any, an_hour_ago: Callable[..., str], redis: Redis, base: str
) -> None:
    ran = an_hour_ago({"every": 60_000}, lost=False)
    redis.lrem(f"{base}wait", 0, ran)
    redis.zadd(f"{base}completed", {ran: 1})
    redis.hset(base + ran, "finishedOn", 1)
    assert watch(1)[0] == ["s"]
    [job] = queue.get_delayed()
    assert job.opts["repeat"] == {"every": 60_000, "count": 2}
    assert redis.hget(base + ran, "nrjid") == job.id


@pytest.mark.parametrize("repeat", [{"every": 60_000, "limit": 1}, {"pattern": "* * * * *", "limit": 1}], ids=str)
def test_a_scheduler_at_its_limit_is_not_repaired(
    queue: Queue, watch: Any, an_hour_ago: Callable[..., str], repeat: Any, redis: Redis, base: str
) -> None:
    an_hour_ago(repeat)
    assert watch(0) == ([], [])
    assert queue.count() == 0
    assert redis.exists(f"{base}ext:cronwd") == 0


def test_a_scheduler_after_its_end_date_is_not_repaired(
    queue: Queue, watch: Any, an_hour_ago: Callable[..., str]
) -> None:
    an_hour_ago({"every": 60_000, "end_date": _core.now_ms() - 60_000})
    assert watch(0) == ([], [])
    assert queue.count() == 0


def test_a_scheduler_whose_job_waits_is_not_repaired(
    queue: Queue, watch: Any, an_hour_ago: Callable[..., str], redis: Redis, base: str
) -> None:
    waits = an_hour_ago({"every": 60_000}, lost=False)
    queue.pause()
    assert watch(0) == ([], [])
    assert [job.id for job in queue.get_jobs("paused")] == [waits]
    assert redis.exists(f"{base}ext:cronwd") == 0


def test_legacy_repeatables_are_not_repaired(queue: Queue, watch: Any, redis: Redis, base: str) -> None:
    redis.zadd(f"{base}repeat", {"nm:jid:::* * * * *": 1, "0af3": 1})
    redis.hset(f"{base}repeat:nm:jid:::* * * * *", mapping={"name": "n", "every": "1000", "ic": "1"})
    redis.hset(f"{base}repeat:0af3", mapping={"name": "n", "every": "1000"})
    assert watch(0) == ([], [])
    assert queue.count() == 0


def test_an_invalid_pattern_does_not_stop_the_repair_of_other_schedulers(
    watch: Any, an_hour_ago: Callable[..., str], redis: Redis, base: str
) -> None:
    an_hour_ago({"pattern": "* * * * *"}, scheduler_id="broken")
    redis.hset(f"{base}repeat:broken", "pattern", "nonsense")
    an_hour_ago({"every": 60_000}, scheduler_id="whole")
    assert watch(1)[0] == ["whole"]


def test_many_workers_repair_once(queue: Queue, worker: Callable[..., Worker], an_hour_ago: Callable[..., str]) -> None:
    for number in range(30):
        an_hour_ago({"every": 60_000}, scheduler_id=f"s{number}")
    repaired: list[str] = []
    workers = [worker(lambda job: None, autorun=True) for _ in range(3)]
    for one in workers:
        one.on("scheduler_repaired", repaired.append)
    wait_until(lambda: queue.get_delayed_count() == 30)
    for one in workers:
        one.close()
    assert queue.get_delayed_count() == 30
    assert len(set(repaired)) == len(repaired)
    assert {scheduler["iteration_count"] for scheduler in queue.get_job_schedulers()} == {2}


def test_a_repaired_scheduler_adds_its_next_jobs_itself(
    queue: Queue, watch: Any, an_hour_ago: Callable[..., str]
) -> None:
    an_hour_ago({"every": 100}, {"data": {"n": 1}})
    repaired, ran = watch(1, 3)
    assert repaired == ["s"]
    assert len(ran) >= 2
    assert len(set(ran)) == len(ran)
    assert len(queue.get_delayed()) == 1


def test_a_queue_without_schedulers_costs_one_command(queue: Queue, watch: Any, redis: Redis) -> None:
    with commands_about(f"{queue.name}:repeat", redis) as commands:
        assert watch(0) == ([], [])
        assert sorted(commands()) == ["TYPE", "ZRANGEBYSCORE"], "TYPE is asked once, by the first call of any client"
