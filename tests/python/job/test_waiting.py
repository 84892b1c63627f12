"""Waiting for the end of a job, with and without QueueEvents."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from bullrush import FlowProducer, Job, Queue, QueueEvents, aio, errors
from tests.watching import connections_for


@pytest.fixture
def events(redis_url: str, queue_name: str) -> Iterator[QueueEvents]:
    with QueueEvents(queue_name, url=redis_url) as events:
        yield events


def handle(job: Job) -> object:
    if job.name == "bad":
        raise ValueError("boom")
    return job.data


@pytest.mark.parametrize("following", [True, False], ids=["events", "polling"])
def test_a_wait_returns_the_result_or_raises_the_reason(
    queue: Queue, worker: Callable, events: QueueEvents, following: bool
) -> None:
    worker(handle, autorun=True)
    queue_events = events if following else None
    assert queue.add("good", {"answer": 42}).wait_until_finished(queue_events) == {"answer": 42}
    with pytest.raises(errors.JobFailedError, match="boom"):
        queue.add("bad").wait_until_finished(queue_events, timeout=10_000)
    done = queue.add("good", 1)
    done.wait_until_finished(timeout=10_000)
    assert done.wait_until_finished(queue_events, timeout=10_000) == 1


def test_the_result_of_a_job_that_is_removed_when_it_finishes_comes_from_the_event(
    queue: Queue, worker: Callable, events: QueueEvents
) -> None:
    events.wait_until_ready()
    good = queue.add("good", [1, 2], remove_on_complete=True)
    bad = queue.add("bad", remove_on_fail=True)
    worker(handle).run(until="drained")
    assert good.wait_until_finished(events, timeout=5_000) == [1, 2]
    with pytest.raises(errors.JobFailedError, match="boom"):
        bad.wait_until_finished(events, timeout=5_000)


def test_a_wait_ends_with_the_event_before_the_next_poll(queue: Queue, worker: Callable, events: QueueEvents) -> None:
    job = queue.add("good", 1)
    threading.Timer(0.3, lambda: worker(handle, autorun=True)).start()
    began = time.monotonic()
    assert job.wait_until_finished(events, timeout=20_000) == 1
    assert time.monotonic() - began < 4


def test_many_waits_share_one_queue_events(queue: Queue, worker: Callable, events: QueueEvents, redis: Redis) -> None:
    jobs = queue.add_bulk([{"name": "good", "data": number} for number in range(50)])
    with ThreadPoolExecutor(50) as pool:
        results = [pool.submit(job.wait_until_finished, events, 20_000) for job in jobs]
        worker(handle, autorun=True)
        assert [result.result() for result in results] == list(range(50))
    assert [client["name"][-3:] for client in connections_for(queue.name, redis)].count(":qe") == 1


def test_the_event_of_an_earlier_run_does_not_end_a_wait(queue: Queue, worker: Callable, events: QueueEvents) -> None:
    events.wait_until_ready()
    job = queue.add("good", "first", attempts=1)
    worker(handle).run(until="drained")
    job.retry("completed")
    with pytest.raises(TimeoutError):
        job.wait_until_finished(events, timeout=300)
    job.update_data("second")
    worker(handle).run(until="drained")
    assert job.wait_until_finished(events, timeout=5_000) == "second"


@pytest.mark.parametrize("following", [True, False], ids=["events", "polling"])
def test_a_wait_ends_at_its_timeout_and_the_job_continues(queue: Queue, events: QueueEvents, following: bool) -> None:
    job = queue.add("n")
    message = rf"Job wait n timed out before finishing, no finish notification arrived after 50ms \(id={job.id}\)"
    with pytest.raises(TimeoutError, match=message):
        job.wait_until_finished(events if following else None, timeout=50)
    assert job.get_state() == "waiting"


def test_a_wait_that_is_over_says_for_how_many_children_the_job_waits(queue: Queue, redis_url: str) -> None:
    child = {"name": "part", "queue_name": queue.name}
    with FlowProducer(url=redis_url) as flows:
        whole = flows.add({"name": "whole", "queue_name": queue.name, "children": [child, child]})
    with pytest.raises(errors.JobWaitTimeoutError) as late:
        whole.job.wait_until_finished(timeout=5)
    assert "after 5ms " in str(late.value)
    assert str(late.value).endswith(f"(id={whole.job.id}). Its state is waiting-children: it waits for 2 children")
    assert late.value.state == "waiting-children"


def test_a_wait_that_is_over_is_no_other_error_if_the_state_cannot_be_read(
    queue: Queue, redis_url: str, redis: Redis
) -> None:
    user = f"user-{queue.name}"
    job = queue.add("n")
    rule = ("+@all", "-lpos", "-evalsha", "-eval")
    redis.acl_setuser(user, reset=True, enabled=True, nopass=True, keys=["*"], channels=["*"], commands=list(rule))
    try:
        with Queue(queue.name, url=redis_url.replace("redis://", f"redis://{user}:x@")) as denied:
            mine = denied.get_job(job.id)
            assert mine is not None
            with pytest.raises(errors.BullrushError):
                mine.get_state()
            with pytest.raises(errors.JobWaitTimeoutError, match=rf"after 20ms \(id={job.id}\)$") as late:
                mine.wait_until_finished(timeout=20)
    finally:
        redis.acl_deluser(user)
    assert late.value.state == "unknown"


@pytest.mark.parametrize("following", [True, False], ids=["events", "polling"])
def test_a_wait_for_a_removed_job_ends_with_an_error(queue: Queue, events: QueueEvents, following: bool) -> None:
    queue_events = events if following else None
    gone = queue.add("n")
    gone.remove()
    with pytest.raises(
        errors.JobNotFoundError, match=rf"Missing key for job {queue.to_key(gone.id)}\. isFinished: the job does not"
    ):
        gone.wait_until_finished(queue_events)
    going = queue.add("n")
    threading.Timer(0.1, going.remove).start()
    with pytest.raises(errors.JobNotFoundError):
        going.wait_until_finished(queue_events, timeout=20_000)


def test_closing_the_queue_events_ends_the_waits(queue: Queue, events: QueueEvents) -> None:
    job = queue.add("n")
    threading.Timer(0.1, events.close).start()
    began = time.monotonic()
    with pytest.raises(errors.ClosedError):
        job.wait_until_finished(events)
    assert time.monotonic() - began < 4


def test_queue_events_of_another_queue_are_refused(queue: Queue, redis_url: str) -> None:
    with (
        QueueEvents("other", url=redis_url, autorun=False) as other,
        pytest.raises(errors.InvalidOptionError, match=f"follows bull:other, the job is in bull:{queue.name}"),
    ):
        queue.add("n").wait_until_finished(other)
    with pytest.raises(errors.InvalidOptionError, match="given as timeout="):
        queue.add("n").wait_until_finished(10_000)


def test_asyncio_waits_for_many_at_once(redis_url: str, queue_name: str) -> None:
    async def main() -> list[object]:
        async with (
            aio.Queue(queue_name, url=redis_url) as queue,
            aio.QueueEvents(queue_name, url=redis_url) as events,
            aio.Worker(queue_name, handle, url=redis_url, autorun=True),
        ):
            jobs = await queue.add_bulk([{"name": "good", "data": number} for number in range(20)])
            bad = await queue.add("bad")
            with pytest.raises(errors.JobFailedError, match="boom"):
                await bad.wait_until_finished(events, timeout=10_000)
            return await asyncio.gather(*(job.wait_until_finished(events, timeout=10_000) for job in jobs))

    assert asyncio.run(asyncio.wait_for(main(), 20)) == list(range(20))
