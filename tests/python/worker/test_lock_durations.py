"""Locks last as long as the option ``lock_durations`` says for the name of the job."""

import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker, errors
from tests.waiting import wait_until


@pytest.fixture
def running(queue: Queue, worker: Callable[..., Worker]) -> Iterator[Callable[..., dict[str, Any]]]:
    """Run a job of each name in the background until the test ends; return the jobs by name."""
    done = threading.Event()
    threads = []

    def run(*names: str, **options: Any) -> dict[str, Any]:
        jobs = {name: queue.add(name) for name in names}
        working = worker(lambda job: done.wait(30), concurrency=len(names), **options)
        threads.append(threading.Thread(target=lambda: working.run(until="empty")))
        threads[-1].start()
        wait_until(lambda: all(job.is_active() for job in jobs.values()))
        return jobs

    yield run
    done.set()
    for thread in threads:
        thread.join()


def test_a_lock_has_the_duration_of_its_jobs_name_from_the_first_renewal_on(queue, redis: Redis, running):
    jobs = running("long", "plain", lock_duration=2_000, lock_durations={"long": 60_000, "other": 30})

    def left(name: str) -> int:
        return redis.pttl(queue.to_key(f"{jobs[name].id}:lock"))

    wait_until(lambda: left("long") > 30_000)
    assert left("plain") <= 2_000
    assert left("long") <= 60_000


def test_a_shorter_lock_is_renewed_as_often_as_it_needs(queue, redis: Redis, running):
    jobs = running("short", "plain", lock_duration=60_000, lock_durations={"short": 2_000})
    key = queue.to_key(f"{jobs['short'].id}:lock")
    wait_until(lambda: 0 < redis.pttl(key) <= 2_000)
    seen: list[Any] = []

    def is_renewed_often() -> bool:
        seen.append(redis.pttl(key))
        return sum(later > earlier for earlier, later in pairwise(seen)) >= 2

    wait_until(is_renewed_often)
    assert 0 < min(seen) <= max(seen) <= 2_000
    assert redis.pttl(queue.to_key(f"{jobs['plain'].id}:lock")) > 2_000


@pytest.mark.parametrize("wrong", [7, ["long"], {"long": 0}, {"long": "1 min"}, {7: 1_000}])
def test_what_is_no_dict_of_times_by_names_is_refused(wrong):
    with pytest.raises(errors.InvalidOptionError, match="lock_durations"):
        Worker("queue", print, lock_durations=wrong)
