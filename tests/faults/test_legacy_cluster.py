"""Queues of Bull on a cluster: one script moves a job within a slot; to another slot it is claimed first."""

from collections.abc import Iterator

import pytest
from redis import Redis

from bullrush import LegacyQueue, Queue

SECOND = 1000


@pytest.fixture
def old(cluster: str) -> Iterator[LegacyQueue]:
    """A queue of Bull with jobs in two states and a repeatable one."""
    with (
        Redis.from_url(cluster, decode_responses=True) as redis,
        LegacyQueue("old", prefix="{bull}", url=cluster, flavor="4") as queue,
    ):
        redis.flushall()
        for n in range(3):
            queue.add("welcome", {"n": n})
        queue.add("welcome", {"n": 3}, delay=3600 * SECOND)
        queue.add("mail", repeat={"every": 3600 * SECOND})
        yield queue
        queue.cleanup()
        assert queue.forget()
        assert redis.keys("{bull}:old:*") == []


@pytest.mark.parametrize("prefix", ["{bull}", "{other}"])
def test_a_queue_of_bull_moves_on_a_cluster(old, cluster, prefix):
    with Queue("new", prefix=prefix, url=cluster) as new:
        report = old.migrate(new)
        assert (report.moved, report.schedulers, report.left) == ({"waiting": 3, "delayed": 1}, 1, [])
        assert [job.data["n"] for job in new.get_jobs(["waiting"], 0, -1, True)] == [0, 1, 2]
        assert new.get_job_counts("delayed") == {"delayed": 2}
        old.cleanup(new)
