"""A worker leaves slots of a global concurrency to others; none stays free while jobs wait."""

import threading
import time
from collections.abc import Callable
from typing import Any

from redis import Redis

from bullrush import Queue, Worker
from tests.waiting import wait_until
from tests.watching import waiting_workers


def test_a_worker_that_takes_no_further_job_leaves_its_slot_to_one_that_waits(
    queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    queue.set_global_concurrency(1)
    begun: list[str] = []
    may_end = threading.Event()

    def handle(job: Any) -> None:
        begun.append(job.name)
        may_end.wait(60)

    try:
        first = worker(handle, autorun=True, drain_delay=60_000)
        queue.add("long")
        wait_until(lambda: begun == ["long"])
        worker(handle, autorun=True, concurrency=2, drain_delay=60_000)
        wait_until(lambda: waiting_workers(queue.name, redis) == 1 and not redis.exists(queue.to_key("marker")))
        queue.add("next")
        first.pause(do_not_wait_active=True)
        may_end.set()
        wait_until(lambda: begun == ["long", "next"], "the other worker has the job", seconds=10)
    finally:
        may_end.set()


def test_a_worker_takes_a_slot_again_that_nobody_else_takes(
    queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    queue.set_global_concurrency(2)
    lock, running, most = threading.Lock(), [0], [0]

    def handle(job: Any) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.005)
        with lock:
            running[0] -= 1

    queue.add_bulk([{"name": "n"} for _ in range(200)])
    worker(handle, autorun=True, concurrency=10, drain_delay=60_000)

    def completed() -> int:
        # As a worker would that waits and then dies.
        redis.zpopmin(queue.to_key("marker"))
        return queue.get_completed_count()

    wait_until(lambda: completed() > 100, pause=0.001)
    most[0] = 0
    wait_until(lambda: completed() == 200, pause=0.001)
    assert most == [2]
