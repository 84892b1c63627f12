"""A worker that stops taking jobs leaves none to wait for the drain delay of another one.

The other worker waits for minutes if nothing wakes it: longer than a test waits.
"""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, WaitingError, Worker
from tests.waiting import wait_until
from tests.watching import commands_about, waiting_workers

Make = Callable[..., Worker]
MINUTES = 600_000


class Held:
    """A handler whose jobs run until they are let go."""

    def __init__(self) -> None:
        self.began, self.let_go = threading.Event(), threading.Event()

    def __call__(self, job: Job) -> None:
        self.began.set()
        assert self.let_go.wait(30)


@pytest.fixture
def blocked(redis: Redis, queue: Queue) -> Callable[[int], Any]:
    """Wait until that many workers wait for a marker of the queue."""
    return lambda count: wait_until(lambda: waiting_workers(queue.name, redis) == count)


@pytest.mark.parametrize("priority", [0, 2])
@pytest.mark.parametrize("how", ["close", "pause"])
def test_jobs_that_a_worker_gives_back_start_at_once_on_another(
    queue: Queue, worker: Make, blocked: Any, how: str, priority: int
) -> None:
    ran: list[str] = []
    idle = worker(lambda job: ran.append(job.id), autorun=True, drain_delay=MINUTES)
    blocked(1)
    for turn in range(10):
        idle.pause()
        held = Held()
        leaving = worker(held, prefetch=50, autorun=True, drain_delay=MINUTES)
        blocked(1)
        jobs = queue.add_bulk([{"name": "n", "opts": {"priority": priority}} for _ in range(5)])
        wait_until(lambda: queue.get_active_count() == len(jobs))  # noqa: B023
        assert held.began.wait(30)
        idle.resume()
        blocked(2)
        if how == "close":
            closing = threading.Thread(target=leaving.close)
            closing.start()
        else:
            leaving.pause(do_not_wait_active=True)
        wait_until(lambda: len(ran) == (turn + 1) * 4)  # noqa: B023
        held.let_go.set()
        wait_until(lambda: queue.get_completed_count() == (turn + 1) * 5)  # noqa: B023
        leaving.close()
        blocked(1)


@pytest.mark.parametrize("end", ["close", "max_jobs"])
def test_the_last_act_of_a_worker_makes_up_for_a_lost_wake_up(
    queue: Queue, worker: Make, redis: Redis, end: str
) -> None:
    def handler(_job: Job) -> None:
        if end == "close":
            threading.Thread(target=leaving.close).start()
            wait_until(lambda: leaving.closing)
        redis.delete(f"bull:{queue.name}:marker")

    leaving = worker(handler, drain_delay=MINUTES, prefetch=0)
    queue.add_bulk([{"name": "n"}] * 3 + [{"name": "later", "opts": {"delay": MINUTES}}])
    leaving.run(max_jobs=1 if end == "max_jobs" else None)
    markers = redis.zrange(f"bull:{queue.name}:marker", 0, -1)
    assert markers == ["0", "1"], "one for the jobs that may run, and one for the delayed job"


def test_a_worker_that_closes_without_jobs_needs_one_script(queue: Queue, worker: Make, redis: Redis) -> None:
    closing = worker(lambda job: None, autorun=True, drain_delay=MINUTES, skip_stalled_check=True)
    wait_until(lambda: waiting_workers(queue.name, redis) == 1)
    with commands_about(queue.name, redis) as commands:
        closing.close()
        assert commands().count("EVALSHA") == 1


def test_a_closing_worker_whose_last_job_held_the_place_of_all_wakes_another(
    queue: Queue, worker: Make, blocked: Any
) -> None:
    queue.set_global_concurrency(1)
    ran: list[str] = []
    held = Held()
    leaving = worker(held, autorun=True, drain_delay=MINUTES)
    queue.add("first")
    assert held.began.wait(30)
    worker(lambda job: ran.append(job.id), autorun=True, drain_delay=MINUTES)
    blocked(1)
    queue.add("second")
    closing = threading.Thread(target=leaving.close)
    closing.start()
    held.let_go.set()
    wait_until(lambda: len(ran) == 1)
    closing.join()


def test_a_worker_that_closes_leaves_new_jobs_to_others_while_its_last_job_runs(
    queue: Queue, worker: Make, blocked: Any
) -> None:
    ran: list[str] = []
    held = Held()
    leaving = worker(held, autorun=True, concurrency=3, drain_delay=MINUTES)
    queue.add("long")
    assert held.began.wait(30)
    worker(lambda job: ran.append(job.id), autorun=True, drain_delay=MINUTES)
    blocked(2)
    closing = threading.Thread(target=leaving.close)
    closing.start()
    for count in range(1, 6):
        queue.add("new")
        wait_until(lambda: len(ran) == count)  # noqa: B023
    held.let_go.set()
    closing.join()


def test_a_paused_worker_is_still_listed(queue: Queue, worker: Make, blocked: Any) -> None:
    paused = worker(lambda job: None, autorun=True, drain_delay=MINUTES)
    blocked(1)
    paused.pause()
    blocked(0)
    wait_until(lambda: queue.get_workers_count() == 1)
    queue.add("n")
    paused.resume()
    wait_until(lambda: queue.get_completed_count() == 1)


@pytest.mark.parametrize("priority", [0, 2])
def test_a_job_that_its_handler_moves_to_wait_runs_again_at_once(
    queue: Queue, worker: Make, blocked: Any, priority: int
) -> None:
    runs: list[str] = []

    def again(job: Job) -> None:
        runs.append(job.id)
        if len(runs) == 1:
            w.pause(do_not_wait_active=True)
            job.move_to_wait(job.token)
            raise WaitingError

    w = worker(again, autorun=True, drain_delay=MINUTES)
    blocked(1)
    other = worker(lambda job: runs.append("other"), drain_delay=MINUTES, autorun=True)
    blocked(2)
    other.pause()
    queue.add("n", priority=priority)
    wait_until(lambda: len(runs) == 1)
    other.resume()
    wait_until(lambda: len(runs) == 2)


def test_a_call_that_waits_for_a_job_by_hand_leaves_the_marker_when_it_ends(
    queue: Queue, worker: Make, blocked: Any, redis_url: str
) -> None:
    ran: list[str] = []
    for count in range(1, 6):
        by_hand = worker(drain_delay=MINUTES)
        waiting = threading.Thread(target=lambda w=by_hand: w.get_next_job("token"))
        waiting.start()
        blocked(1)
        by_hand.close()
        waiting.join()
        with Worker(queue.name, lambda job: ran.append(job.id), url=redis_url, autorun=True, drain_delay=MINUTES):
            blocked(1)
            queue.add("n")
            wait_until(lambda: len(ran) == count)  # noqa: B023


@pytest.mark.parametrize("how", ["remove", "obliterate"])
def test_a_worker_that_closes_leaves_no_marker_of_a_job_that_is_gone(
    queue: Queue, redis: Redis, worker: Make, blocked: Any, how: str
) -> None:
    waiting = worker(lambda job: None, autorun=True, drain_delay=MINUTES)
    blocked(1)
    job = queue.add("n", delay=MINUTES)
    wait_until(lambda: redis.exists(queue.to_key("marker")) == 0)
    job.remove() if how == "remove" else queue.obliterate()
    waiting.close()
    assert redis.exists(queue.to_key("marker")) == 0


def test_a_job_that_ended_by_hand_leaves_its_place_to_another_worker_when_its_own_closes(
    queue: Queue, redis_url: str, worker: Callable[..., Worker]
) -> None:
    """BullMQ's worker sets no marker for it: the other one would wait for its drain delay."""
    queue.set_global_concurrency(1)
    queue.add("by hand")
    with Worker(queue.name, None, url=redis_url) as by_hand:
        job = by_hand.get_next_job("token", block=False)
        other = worker(lambda job: None, drain_delay=60_000, autorun=True)
        wait_until(lambda: [client["cmd"] for client in queue.get_workers()].count("bzpopmin") == 1)
        waiting = queue.add("next")
        wait_until(lambda: [client["cmd"] for client in queue.get_workers()].count("bzpopmin") == 1)
        job.move_to_completed(1, fetch_next=False)
    waiting.wait_until_finished(timeout=20_000)
    other.close()
