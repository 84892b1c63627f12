"""How workers wait for jobs: not all at the same time, and none in the way of another."""

import threading
from collections.abc import Callable

from redis import Redis

from bullrush import Queue, Worker
from bullrush.job.calls import end_signals
from tests.waiting import wait_until
from tests.watching import waiting_workers


def test_a_wait_for_jobs_lasts_the_drain_delay_give_or_take_a_tenth(
    queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    waits: list[float] = []
    with redis.monitor() as monitor:
        worker(lambda job: None, autorun=True, drain_delay=200)
        for seen in monitor.listen():
            command, *arguments = seen["command"].split()
            if command == "BZPOPMIN" and arguments[0] == queue.to_key("marker"):
                waits.append(float(arguments[-1]))
            if len(waits) == 10:
                break
    assert all(0.18 <= wait <= 0.22 for wait in waits)
    assert max(waits) - min(waits) > 0.002


def test_a_worker_that_is_full_before_its_wait_has_ended_keeps_no_marker_from_others(
    queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    begun: set[str] = set()
    may_end = threading.Event()

    def handle(job):
        begun.add(job.name)
        may_end.wait(60)

    try:
        full = worker(handle, autorun=True, concurrency=2, drain_delay=60_000)
        queue.add("long")
        wait_until(
            lambda: "long" in begun and waiting_workers(queue.name, redis) == 1, "the first worker has room, and waits"
        )
        full.concurrency = 1
        worker(handle, autorun=True, drain_delay=60_000)
        wait_until(
            lambda: waiting_workers(queue.name, redis) == 2, "the first worker still waits, and the other one behind it"
        )
        queue.add("next")
        wait_until(lambda: "next" in begun, "the other worker has the job", seconds=10)
    finally:
        may_end.set()


def test_a_wait_for_a_result_looks_every_5_s_give_or_take_a_tenth() -> None:
    looks = {end_signals._recheck_ms(float("inf")) for _ in range(100)}
    assert min(looks) >= 4_500 and max(looks) <= 5_500 and max(looks) - min(looks) > 500
    assert end_signals._recheck_ms(1.5) == 1_500
    assert end_signals._recheck_ms(-1) == 0
