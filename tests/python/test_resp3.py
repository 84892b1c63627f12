"""A URL with ``protocol=3``: each read finds what it finds with RESP2, although some replies have another form."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, QueueEvents, Worker
from tests.waiting import wait_until

READS: dict[str, Callable[[Queue], Any]] = {
    "counts": lambda queue: queue.get_job_counts(),
    "delayed": lambda queue: [job.id for job in queue.get_delayed()],
    "due": lambda queue: queue.health().oldest_due_age is not None and queue.health().problems,
    "finished": lambda queue: [job.id for job in queue.get_completed()],
    "listeners": lambda queue: len(queue.get_queue_events()),
    "metrics": lambda queue: queue.get_metrics("completed")["count"],
    "prioritized": lambda queue: [job.id for job in queue.get_prioritized()],
    "schedulers": lambda queue: [scheduler["key"] for scheduler in queue.get_job_schedulers()],
    "state": lambda queue: [job.get_state() for job in queue.get_jobs()],
    "waiting": lambda queue: [job.id for job in queue.get_waiting()],
    "workers": lambda queue: len(queue.get_workers()),
}


@pytest.fixture
def resp3(redis_url: str) -> str:
    return f"{redis_url}{'&' if '?' in redis_url else '?'}protocol=3"


@pytest.fixture
def filled(queue: Queue, redis_url: str) -> Iterator[Queue]:
    """A queue with jobs in all states, a scheduler and a worker by hand."""
    queue.add("done")
    Worker(queue.name, lambda job: None, url=redis_url).run(until="drained")
    queue.upsert_job_scheduler("daily", {"pattern": "0 3 * * *"})
    queue.add_bulk([{"name": "n"}, {"name": "n", "opts": {"priority": 3}}, {"name": "n", "opts": {"delay": 60_000}}])
    due = queue.add("n", delay=1)
    wait_until(lambda: queue.health().oldest_due_age is not None)
    with Worker(queue.name, url=redis_url) as worker:
        worker.wait_until_ready()
        assert due.get_state() == "delayed"
        yield queue


@pytest.mark.parametrize("name", READS)
def test_a_read_finds_the_same_with_resp3(name: str, filled: Queue, resp3: str) -> None:
    with Queue(filled.name, url=resp3) as queue:
        assert READS[name](queue) == READS[name](filled)


def test_a_worker_with_resp3_is_healthy_while_a_delayed_job_is_due(queue: Queue, resp3: str) -> None:
    go_on = threading.Event()
    queue.add("n")
    queue.add("n", delay=1)
    with Worker(queue.name, lambda job: go_on.wait(60), url=resp3, autorun=True) as worker:
        wait_until(lambda: worker.health().in_hand == 1)
        wait_until(lambda: worker.health().oldest_due_age is not None)
        assert worker.health().problems == ()
        go_on.set()


def test_events_are_heard_with_resp3_on_one_connection(queue: Queue, resp3: str, redis: Redis) -> None:
    before = redis.info("stats")["total_connections_received"]
    with QueueEvents(queue.name, url=resp3) as events:
        events.wait_until_ready()
        heard = iter(events)
        added = [queue.add("n") for _ in range(300)]
        found = [next(heard) for _ in range(600)]
    assert [event.job_id for event in found if event.event == "added"] == [job.id for job in added]
    assert redis.info("stats")["total_connections_received"] - before < 20


def test_the_end_of_a_job_is_heard_with_resp3(queue: Queue, resp3: str) -> None:
    with Queue(queue.name, url=resp3) as twin, Worker(queue.name, lambda job: 7, url=resp3, autorun=True):
        assert twin.add("n").wait_until_finished(timeout=10_000, via="events") == 7
