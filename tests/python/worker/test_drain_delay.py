"""Idle workers do not all ask at the same time."""

from collections.abc import Callable

from redis import Redis

from bullrush import Queue, Worker
from bullrush.job.calls import end_signals


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


def test_a_wait_for_a_result_looks_every_5_s_give_or_take_a_tenth() -> None:
    looks = {end_signals._recheck_ms(float("inf")) for _ in range(100)}
    assert min(looks) >= 4_500 and max(looks) <= 5_500 and max(looks) - min(looks) > 500
    assert end_signals._recheck_ms(1.5) == 1_500
    assert end_signals._recheck_ms(-1) == 0
