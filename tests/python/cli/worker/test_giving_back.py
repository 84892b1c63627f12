"""A process that ends by force gives its running jobs back: they run again at once, and nothing is counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from bullrush import Queue, Worker
from tests.faults.proxy import Proxy
from tests.waiting import wait_until

from .conftest import Command, Start

#: Further handlers of the tests.
MORE = """
import random, sys
if __name__ == "jobs":  # a handler process imports the module, too
    lasting = Worker(QUEUE, handle)
    isolated = Worker(QUEUE, handle, isolation="process")

    def brief(job):
        time.sleep(random.random() / 50)

    many = Worker(QUEUE, brief, concurrency=20)
"""

STATES = ("wait", "prioritized", "delayed", "active", "completed", "failed")


@pytest.fixture(autouse=True)
def more(folder: Path, queue_name: str) -> None:
    with (folder / "jobs.py").open("a") as jobs:
        jobs.write(MORE.replace("QUEUE", repr(queue_name)))


def by_second_signal(command: Command) -> None:
    command.terminate()
    command.prints("closing")
    command.interrupt()


def by_timeout(command: Command) -> None:
    command.terminate()


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize("end", [by_second_signal, by_timeout])
@pytest.mark.parametrize("target", ["jobs:lasting", "jobs:awaited", "jobs:isolated"])
def test_the_jobs_of_a_process_that_ends_by_force_run_again_at_once(
    start: Start,
    queue: Queue,
    redis: Any,
    redis_url: str,
    target: str,
    end: Callable[[Command], None],
    processes: str,
) -> None:
    plain, first = queue.add("n", {"seconds": 30}), queue.add("n", {"seconds": 30}, priority=7)
    timeout = "60" if end is by_second_signal else "0.2"
    command = start(target, "-c", "2", "-p", processes, "--shutdown-timeout", timeout)
    command.prints("begun", 2)
    end(command)
    assert command.ends() == 4, command.output
    assert queue.get_job_counts(*STATES) == dict.fromkeys(STATES, 0) | {"wait": 1, "prioritized": 1}
    assert not redis.exists(*(f"bull:{queue.name}:{job.id}:lock" for job in (plain, first)))
    for job in map(queue.get_job, (plain.id, first.id)):
        assert (job.attempts_made, job.attempts_started, job.stalled_counter) == (0, 1, 0)
    stats = Worker(queue.name, lambda job: None, url=redis_url).run(until="empty")
    assert (stats.completed, stats.failed) == (2, 0)


def test_deployments_that_end_by_force_do_not_fail_a_long_job(start: Start, queue: Queue) -> None:
    job = queue.add("n", {"seconds": 30})
    for _ in range(3):
        command = start("jobs:lasting", "--shutdown-timeout", "0.1")
        command.prints("begun")
        command.terminate()
        assert command.ends() == 4, command.output
    assert queue.get_job(job.id).get_state() == "waiting"


def test_a_job_that_finishes_while_its_process_ends_is_in_one_state_only(start: Start, queue: Queue) -> None:
    jobs = {job.id for job in queue.add_bulk([{"name": "n"}] * 2_000)}
    for ending in range(5):
        command = start("jobs:many")
        command.prints("works on queue")
        enough = queue.get_completed_count() + 30
        wait_until(lambda enough=enough: queue.get_completed_count() > enough)
        command.terminate()
        command.interrupt()
        assert command.ends() in {0, 4}, command.output
        found = [job.id for state in STATES for job in queue.get_jobs([state], 0, -1)]
        assert len(found) == len(jobs) and set(found) == jobs, ending
    assert queue.get_failed_count() == 0


def test_a_job_that_another_worker_has_is_left_alone(start: Start, queue: Queue, redis: Any) -> None:
    job = queue.add("n", {"seconds": 30})
    command = start("jobs:lasting", "--shutdown-timeout", "0.1")
    command.prints("begun")
    redis.set(f"bull:{queue.name}:{job.id}:lock", "of another worker")
    command.terminate()
    assert command.ends() == 4, command.output
    assert queue.get_job(job.id).get_state() == "active"
    assert redis.get(f"bull:{queue.name}:{job.id}:lock") in {"of another worker", b"of another worker"}


def test_a_redis_that_does_not_answer_does_not_keep_the_process(start: Start, queue: Queue, redis_url: str) -> None:
    queue.add("n", {"seconds": 30})
    with Proxy(urlsplit(redis_url).port or 0) as proxy:
        command = start("jobs:lasting", BULLRUSH_URL=proxy.url)
        command.prints("begun")
        command.terminate()
        command.prints("closing")
        proxy.swallow(True)
        began = time.monotonic()
        command.interrupt()
        assert command.ends() == 4, command.output
        assert time.monotonic() - began < 2
    assert queue.get_active_count() == 1


def test_a_program_that_goes_on_gives_no_running_job_back(queue: Queue, redis_url: str) -> None:
    job = queue.add("n", {"seconds": 30})
    gone_on = []

    def handle(running: Any) -> None:
        gone_on.append(running.id)
        while queue.get_job(job.id).get_state() == "active" and len(gone_on) < 2:
            time.sleep(0.01)

    worker = Worker(queue.name, handle, url=redis_url, autorun=True)
    wait_until(lambda: gone_on == [job.id])
    worker.close(force=True)
    assert queue.get_job(job.id).get_state() == "active"
    gone_on.append("the end")
