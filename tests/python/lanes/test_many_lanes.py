"""A worker of more queues than a busy one waits for at a time."""

from typing import Any

from redis import Redis

from tests.waiting import wait_until
from tests.watching import waiting_workers


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
