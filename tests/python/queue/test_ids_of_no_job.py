"""A name of a key that is no job is the id of no job: nothing reads, changes or removes that key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue
from bullrush.errors import JobNotFoundError
from bullrush.extending import change_seen, run_blocking, seen_jobs

NAMES = ["meta", "id", "marker", "events", "wait", "delayed", "failed", "repeat:nightly", "1:logs", "ext:cron"]


@pytest.fixture
def full(queue: Queue, redis: Redis) -> Iterator[Queue]:
    """A queue with all of these keys, which no call of the test may change."""
    queue.set_global_concurrency(3)
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *"})
    queue.add("n").log("a row")
    queue.add("late", delay=3_600_000)
    queue.pause()
    before = state(queue, redis)
    yield queue
    assert state(queue, redis) == before


def state(queue: Queue, redis: Redis) -> dict[str, Any]:
    return {key: redis.dump(key) for key in sorted(redis.scan_iter(queue.to_key("*")))}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_read_as_a_job_that_does_not_exist(full: Queue, redis_url: str, name: str) -> None:
    assert full.get_job(name) is None
    assert full.get_job_state(name) == "unknown"
    assert full.get_job_logs(name) == {"logs": [], "count": 0}
    found, gone = full.why(name), full.why("gone")
    assert (found.job_id, found.state, found.reasons) == (name, "unknown", gone.reasons)
    assert found.sentence == gone.sentence.replace("'gone'", f"'{name}'")
    with FlowProducer(url=redis_url) as flows:
        assert flows.get_flow(id=name, queue_name=full.name) is None


@pytest.mark.parametrize("name", NAMES)
def test_it_is_changed_as_a_job_that_does_not_exist(full: Queue, name: str) -> None:
    with pytest.raises(JobNotFoundError):
        full.update_job_progress(name, 5)
    with pytest.raises(JobNotFoundError):
        full.add_job_log(name, "a row")
    assert full.remove(name) == full.remove("gone")
    assert full.cancel_job(name) is False
    assert full.promote_many([name]) == []


@pytest.mark.parametrize("verb", ["retry", "promote", "remove"])
def test_among_many_it_alone_is_not_found(full: Queue, verb: Any) -> None:
    noted = run_blocking(seen_jobs(full.core, NAMES))
    outcomes = run_blocking(change_seen(full.core, verb, "delayed", noted))
    assert [type(outcome) for outcome in outcomes] == [JobNotFoundError] * len(NAMES)


def test_jobs_of_schedulers_and_ids_of_three_parts_are_ids_of_jobs(queue: Queue) -> None:
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *"})
    (due,) = queue.get_delayed()
    assert due.id is not None and due.id.startswith("repeat:nightly:")
    queue.add("n", job_id="order:7:logs")
    for id in (due.id, "order:7:logs"):
        found = queue.get_job(id)
        assert found is not None and found.id == id
    assert queue.remove("order:7:logs") == 1
    assert queue.get_job("order:7:logs") is None
