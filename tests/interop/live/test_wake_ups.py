"""Workers that stop taking jobs beside idle workers of BullMQ, which nothing wakes but the marker."""

import threading

import pytest

from tests.waiting import wait_until
from tests.watching import waiting_workers

from .our_worker import our_worker

#: Seconds. Longer than a test waits.
DRAIN_DELAY = 600


class PausingIn:
    """A handler that pauses its queue where the data of the job says so."""

    def __init__(self, queue):
        self._queue = queue

    def __call__(self, job):
        if job.data:
            self._queue.pause()


@pytest.fixture
def blocked(redis, queue_name):
    """Wait until that many workers wait for a marker of the queue."""
    return lambda count: wait_until(lambda: waiting_workers(queue_name, redis) == count)


@pytest.mark.parametrize("priority", [0, 2])
@pytest.mark.parametrize("how", ["close", "pause", "end of the run"])
def test_jobs_that_we_give_back_start_at_once_on_their_worker(
    ours, theirs, queue_name, redis_url, blocked, how, priority
):
    began, let_go = threading.Event(), threading.Event()

    def held(_job):
        began.set()
        assert let_go.wait(30)

    with our_worker(queue_name, redis_url, held, prefetch=50, drain_delay=DRAIN_DELAY * 1000) as leaving:
        blocked(1)
        ours.add_bulk([{"name": "n", "data": {"return": 1}, "opts": {"priority": priority}} for _ in range(10)])
        assert began.wait(30)
        wait_until(lambda: ours.get_active_count() == 10)
        with theirs.worker(drainDelay=DRAIN_DELAY):
            blocked(2)
            closing = threading.Thread(target=leaving.pause if how == "pause" else leaving.close)
            closing.start()
            wait_until(lambda: ours.get_completed_count() == 9)
            let_go.set()
            closing.join()
            wait_until(lambda: ours.get_completed_count() == 10)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_their_worker_takes_new_jobs_while_another_closes(ours, theirs, queue_name, redis_url, blocked, side):
    """Also ours, whose wait is pending when it begins to close."""
    with theirs.worker(drainDelay=DRAIN_DELAY):
        for count in range(1, 6):
            blocked(1)
            closing = (
                our_worker(queue_name, redis_url, drain_delay=DRAIN_DELAY * 1000)
                if side == "ours"
                else theirs.worker(drainDelay=DRAIN_DELAY)
            )
            with closing:
                blocked(2)
            ours.add("n", {"return": 1})
            wait_until(lambda count=count: ours.get_completed_count() == count)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_no_further_handler_starts_after_one_has_paused_the_queue(ours, theirs, queue_name, redis_url, side):
    pausing = {"runs": [[["pause", None]]]}
    ours.add_bulk([{"name": "n", "data": pausing if number == 20 else {}} for number in range(1, 101)])
    with our_worker(queue_name, redis_url, PausingIn(ours), prefetch=50) if side == "ours" else theirs.worker():
        wait_until(ours.is_paused)
        wait_until(lambda: ours.get_active_count() == 0)
    counts = ours.get_job_counts("completed", "waiting", "paused")
    assert (counts["completed"], counts["waiting"] + counts["paused"]) == (20, 80)
