"""A clock that moves: what is due later runs now."""

import pytest

from bullrush import Queue, Worker
from bullrush.errors import InvalidOptionError
from bullrush.testing import Clock, work
from tests.waiting import wait_until

HOUR = 3_600_000


def test_a_delayed_job_is_due_when_the_clock_has_moved(bullrush_url: str, bullrush_clock: Clock) -> None:
    ran = []
    with Queue("mail") as queue:
        queue.add("later", delay=HOUR)
        assert work(queue, lambda job: ran.append(job.name)).completed == 0
        bullrush_clock.advance(HOUR)
        assert work(queue, lambda job: ran.append(job.name)).completed == 1
    assert ran == ["later"]


def test_an_idle_worker_wakes_when_the_clock_moves(bullrush_url: str, bullrush_clock: Clock) -> None:
    with Queue("mail") as queue, Worker("mail", lambda job: "done", autorun=True, drain_delay=60_000):
        wait_until(queue.get_workers, "the worker waits")
        queue.add("later", delay=HOUR)
        queue.add("now")
        wait_until(lambda: queue.get_completed_count() == 1, "the other job has run")
        bullrush_clock.advance(HOUR)
        wait_until(lambda: queue.get_completed_count() == 2, "the delayed job has run", seconds=20)


def test_a_job_scheduler_makes_a_job_per_interval(bullrush_url: str, bullrush_clock: Clock) -> None:
    with Queue("reports") as queue:
        queue.upsert_job_scheduler("daily", {"pattern": "0 9 * * *", "tz": "Europe/Berlin"})
        for day in range(3):
            bullrush_clock.advance(24 * HOUR)
            assert work(queue, lambda job: None).completed == 1, day


def test_a_retry_with_backoff_needs_no_waiting(bullrush_url: str, bullrush_clock: Clock) -> None:
    def fail(job):
        raise ConnectionError

    with Queue("mail") as queue:
        job = queue.add("send", attempts=3, backoff=HOUR)
        for _ in range(2):
            assert work(queue, fail).retried == 1
            bullrush_clock.advance(HOUR)
        assert work(queue, fail).failed == 1
        assert queue.get_job(job.id).attempts_made == 3


def test_a_clock_stops_and_comes_back() -> None:
    with Clock() as clock:
        clock.stop(1_000)
        clock.advance(5)
        assert clock.now == 1_005
        with pytest.raises(InvalidOptionError, match="cannot go back"):
            clock.advance(-1)
    assert Clock().now > 1_700_000_000_000


def test_the_outermost_clock_sets_the_real_time(bullrush_clock: Clock) -> None:
    began = bullrush_clock.now
    bullrush_clock.advance(HOUR)
    with Clock() as inner:
        inner.advance(HOUR)
    assert 2 * HOUR <= bullrush_clock.now - began < 3 * HOUR
