"""Workers that look among the jobs of the queue itself for those that their profile matches."""

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker
from bullrush.errors import InvalidOptionError
from tests.waiting import wait_until

MINE: Any = {"server": "me"}
OTHERS: Any = {"capabilities": ["tpu"]}
SCAN: Any = {"profile": {"server": "me", "capabilities": ["gpu"]}, "claim": "scan"}


@pytest.fixture
def prepare(queue: Queue, redis: Redis) -> Callable[..., Job]:
    """Add a delayed job with this target to the queue itself; None is none."""

    def job(target: Any, **options: Any) -> Job:
        made = queue.add("a", {}, delay=60_000, **options)
        if target is not None:
            redis.hset(f"bull:{queue.name}:{made.id}", "tgt", json.dumps(target))
        return made

    return job


@pytest.fixture
def add(prepare: Callable[..., Job]) -> Callable[..., None]:
    """Add jobs with these targets to the queue itself."""

    def jobs(*targets: Any, **options: Any) -> None:
        for target in targets:
            prepare(target, **options).promote()

    return jobs


@contextmanager
def running(worker: Worker) -> Iterator[Worker]:
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    yield worker
    worker.close()
    thread.join(10)
    assert not thread.is_alive()


def exhausted(worker: Worker) -> int:
    page = worker.export_prometheus_metrics()
    [line] = [line for line in page.splitlines() if line.startswith("bullmq_route_scan_exhausted_total")]
    return int(line.rpartition(" ")[2])


def ids(jobs: Any) -> list[str]:
    return [job.id for job in jobs]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_only_jobs_that_match_are_run(add: Any, queue: Queue, worker: Callable[..., Worker], concurrency: int) -> None:
    add(OTHERS, MINE, None, OTHERS, *[MINE] * 5, OTHERS)
    add(OTHERS, MINE, priority=2)
    ran: list[str] = []
    worker(lambda job: ran.append(job.id), concurrency=concurrency, **SCAN).run(until="empty")
    assert sorted(ran, key=int) == ["2", "3", "5", "6", "7", "8", "9", "12"]
    assert ids(queue.get_waiting()) == ["1", "4", "10"]
    assert ids(queue.get_prioritized()) == ["11"]
    assert queue.get_active_count() == 0


def test_a_job_that_is_retried_or_delayed_is_still_for_those_that_match(
    add: Any, queue: Queue, worker: Callable[..., Worker]
) -> None:
    add(OTHERS, MINE, attempts=3)
    tries: list[str] = []

    def fail_twice(job: Any) -> None:
        tries.append(job.id)
        if len(tries) < 3:
            raise ValueError

    worker(fail_twice, **SCAN).run(max_jobs=3)
    assert tries == ["2"] * 3
    assert ids(queue.get_waiting()) == ["1"]


def test_routes_are_served_as_well(add: Any, queue: Queue, worker: Callable[..., Worker]) -> None:
    add(OTHERS, MINE)
    queue.add("b", target={"capabilities": ["gpu"]})
    ran: list[str] = []
    worker(lambda job: ran.append(job.queue_name), **SCAN).run(until="empty")
    assert sorted(ran) == [queue.name, f"{queue.name}~cap.gpu"]


def test_a_worker_that_finds_only_jobs_for_others_looks_seldom(add: Any, worker: Callable[..., Worker]) -> None:
    add(OTHERS, OTHERS)
    began = time.monotonic()
    with running(worker(lambda job: None, scan_depth=1, **SCAN)) as one:
        wait_until(lambda: exhausted(one) >= 4)
        # After 250, 500 and 1000 ms.
        assert time.monotonic() - began > 1.5


def test_the_marker_reaches_another_worker(
    prepare: Callable[..., Job], queue: Queue, redis: Redis, redis_url: str, worker: Callable[..., Worker]
) -> None:
    job = prepare(OTHERS)
    marker = f"bull:{queue.name}:marker"
    popped: list[Any] = []

    def waits(name: str) -> bool:
        return any(client["name"].startswith(name) and client["cmd"] == "bzpopmin" for client in redis.client_list())

    with (
        running(worker(lambda job: None, scan_depth=1, **SCAN)) as one,
        Redis.from_url(redis_url, client_name=f"other-{queue.name}", decode_responses=True) as other,
    ):
        wait_until(lambda: not redis.exists(marker) and waits(f"bull:{base64.b64encode(queue.name.encode()).decode()}"))
        thread = threading.Thread(target=lambda: popped.append(other.bzpopmin(marker, timeout=20)))
        thread.start()
        wait_until(lambda: waits(f"other-{queue.name}"))
        job.promote()
        thread.join(20)
        assert exhausted(one) >= 1
    assert [(name, member) for name, member, _ in popped] == [(marker, "0")]


def test_a_worker_that_ends_puts_the_marker_back(
    add: Any, queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    add(OTHERS)
    with running(worker(lambda job: None, scan_depth=1, **SCAN)) as one:
        # The first scan needs no marker, the second one has taken it.
        wait_until(lambda: exhausted(one) >= 2)
    assert redis.zscore(f"bull:{queue.name}:marker", "0") == 0


def test_a_job_taken_by_hand_matches_as_well(
    add: Any, queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    add(OTHERS, MINE, None)
    one = worker(None, drain_delay=200, **SCAN)
    job = one.get_next_job("t")
    assert job is not None
    assert job.id == "2"
    assert job.move_to_completed("done", "t", fetch_next=True) is None
    following = one.get_next_job("t")
    assert following is not None
    assert following.id == "3"
    assert one.get_next_job("t") is None
    assert redis.zscore(f"bull:{queue.name}:marker", "0") == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"claim": "scan"}, "claim='scan' needs a profile"),
        ({**SCAN, "routes_only": True}, "not routes_only=True"),
        ({**SCAN, "claim": "all"}, "claim must be 'next' or 'scan', not 'all'"),
        ({**SCAN, "scan_depth": 0}, "scan_depth must be"),
    ],
)
def test_bad_options_are_refused(worker: Callable[..., Worker], options: Any, text: str) -> None:
    with pytest.raises(InvalidOptionError, match=text):
        worker(lambda job: None, **options)
