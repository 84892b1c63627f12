"""A worker of more queues than a busy one waits for at a time."""

import time
from typing import Any

from redis import Redis

from tests.waiting import wait_until
from tests.watching import commands_about, waiting_workers


def test_a_job_of_any_of_many_queues_starts_within_two_seconds(queues: Any, serve: Any, redis: Redis) -> None:
    """One wait is for the markers of all queues."""
    many = queues(250)
    serve(lambda job: job.name, many, drain_delay=60_000)
    with redis.monitor() as monitor:
        commands = (line["command"] for line in monitor.listen())
        wait_until(lambda: any(next(commands).count(":marker") == len(many) for _ in range(1000)))
    for queue in many[::40]:
        wait_until(lambda: waiting_workers(many[0].name, redis) == 1)
        queue.add("n")
        wait_until(lambda: queue.get_completed_count() == 1)  # noqa: B023
        [job] = queue.get_completed(0, 0)
        assert job.processed_on - job.timestamp < 2000


def test_the_markers_of_many_queues_are_taken_at_once_not_by_a_wait_each(queues: Any, serve: Any, redis: Redis) -> None:
    """A job that comes meanwhile would wait behind all those waits."""
    many = queues(250)
    serve(lambda job: job.name, many, concurrency=4, drain_delay=60_000)
    wait_until(lambda: waiting_workers(many[0].name, redis) == 1)
    markers = [f"bull:{queue.name}:marker" for queue in many]
    with commands_about(many[0].name.rpartition("~")[0], redis) as commands:
        with redis.pipeline() as together:
            for marker in markers:
                together.zadd(marker, {"0": 0})
            together.execute()
        wait_until(lambda: not redis.exists(*markers), seconds=60)
        waits = commands().count("BZPOPMIN")
    assert waits < len(many) / 4


def test_a_worker_that_gets_a_job_in_each_of_many_queues_at_once_goes_on_working(queues: Any, serve: Any) -> None:
    """Calls for several queues are in flight, and the outcome of the last job in hand waits for one of them."""
    many = queues(250)
    serve(lambda job: job.name, many, concurrency=10, drain_delay=60_000)
    for turn in range(1, 5):
        for queue in many:
            queue.add("n")
        expected = turn * len(many)
        wait_until(lambda: sum(queue.get_completed_count() for queue in many) == expected, seconds=60)  # noqa: B023
        last = [queue.get_completed(0, 0)[0] for queue in many]
        longest = max(job.finished_on - job.timestamp for job in last)
        assert longest < 5000


def test_workers_of_many_queues_share_the_global_concurrency_of_one_of_them(queues: Any, serve: Any) -> None:
    many = queues(250)
    busy, begun = many[0], [0, 0, 0]
    busy.set_global_concurrency(3)

    def handler(number: int) -> Any:
        def handle(_job: Any) -> None:
            begun[number] += 1
            time.sleep(0.002)

        return handle

    for number in range(3):
        serve(handler(number), many, concurrency=10, drain_delay=60_000)
    busy.add_bulk([{"name": "n"}] * 600)
    wait_until(lambda: busy.get_completed_count() == 600, seconds=60)
    assert sum(begun) == 600 and min(begun) >= 90, f"each has at least 15 %: {begun}"


def test_a_place_that_becomes_free_without_a_marker_is_used_after_the_next_wait(
    queues: Any, serve: Any, redis: Redis
) -> None:
    """A program of BullMQ that ends a job by hand sets no marker, whatever the global concurrency says."""
    many = queues(20)
    capped = many[7]
    capped.set_global_concurrency(1)
    capped.add_bulk([{"name": "n"}] * 2)
    key = f"bull:{capped.name}"
    redis.lmove(f"{key}:wait", f"{key}:active", "RIGHT", "LEFT")
    done: list[str] = []
    serve(lambda job: done.append(job.id), many, drain_delay=300, skip_stalled_check=True)
    wait_until(lambda: waiting_workers(many[0].name, redis) == 1)
    wait_until(lambda: not redis.exists(f"{key}:marker"))
    with commands_about(many[0].name.rpartition("~")[0], redis) as commands:
        redis.lpop(f"{key}:active")
        wait_until(lambda: done)
        waits = commands().count("BZPOPMIN")
    assert waits <= 5, "not after as many waits as there are queues"


def test_such_a_place_is_used_also_while_other_queues_keep_the_worker_awake(
    queues: Any, serve: Any, redis: Redis
) -> None:
    capped, other = queues(2)
    capped.set_global_concurrency(1)
    capped.add_bulk([{"name": "n"}] * 2)
    key = f"bull:{capped.name}"
    redis.lmove(f"{key}:wait", f"{key}:active", "RIGHT", "LEFT")
    done: list[str] = []
    serve(lambda job: done.append(job.queue_name), [capped, other], concurrency=5, skip_stalled_check=True)
    wait_until(lambda: waiting_workers(capped.name, redis) == 1)
    wait_until(lambda: not redis.exists(f"{key}:marker"))
    redis.lpop(f"{key}:active")
    for _ in range(100):
        before = len(done)
        other.add("n")
        wait_until(lambda: len(done) > before)  # noqa: B023
        if capped.name in done:
            break
        time.sleep(0.1)
    assert capped.name in done, "within ten seconds"
