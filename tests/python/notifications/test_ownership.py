"""A worker whose job was taken away gets a message; without the message it finds out later."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker, aio
from tests.waiting import wait_until

NEVER = threading.Event()


@pytest.fixture
def start(url: str, messages: str, queue_name: str) -> Iterator[Callable[..., Worker]]:
    """Start a worker that learns of lost locks by messages, or else soon by renewing them.

    Its locks last so long that none of them expires on a loaded machine.
    """
    workers = []
    renewal = {} if messages == "delivered" else {"lock_renew_time": 1_000}

    def run(handler: Any, **options: Any) -> Worker:
        options = {"skip_stalled_check": True, "lock_duration": 30_000, "prefetch": 0, **renewal, **options}
        workers.append(Worker(queue_name, handler, url=url, notify=True, autorun=True, drain_delay=500, **options))
        return workers[-1]

    yield run
    for worker in workers:
        worker.close(force=True)


class Handler:
    """Runs until its job is cancelled, and notes when that was."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.cancelled: dict[str, float] = {}

    def __call__(self, job: Job) -> None:
        self.started.append(job.id)
        while not job.cancelled:
            NEVER.wait(0.005)
        self.cancelled[job.id] = time.monotonic()


class AsyncHandler(Handler):
    async def __call__(self, job: aio.Job) -> None:  # type: ignore[override]
        self.started.append(job.id)
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled[job.id] = time.monotonic()


def take_away(redis: Redis, queue: Queue, job: Job, token: str | None = None) -> None:
    """Let the lock of a job expire, or give it to somebody else."""
    redis.delete(queue.to_key(f"{job.id}:lock"))
    if token is not None:
        redis.set(queue.to_key(f"{job.id}:lock"), token)


def noticed(worker: Worker, messages: str) -> int:
    """Return how many locks the metrics of a worker say were lost and noticed as they should be.

    Without messages that is by renewing, or by the look that follows the confirmation of the subscription.
    """
    ways = ("message",) if messages == "delivered" else ("message", "renewal")
    return sum(lost(worker, how) for how in ways)


def lost(worker: Worker, how: str) -> int:
    """Return how many locks the metrics of a worker say were lost in this way."""
    page = worker.export_prometheus_metrics().splitlines()
    (line,) = (row for row in page if row.startswith("bullmq_ownership_lost_total") and f'reason="{how}"' in row)
    return int(line.rpartition(" ")[2])


@pytest.mark.parametrize("handler", [Handler, AsyncHandler])
def test_a_job_that_another_worker_takes_away_is_cancelled(
    queue: Queue, redis: Redis, messages: str, start: Callable, handler: type[Handler]
) -> None:
    first, second = handler(), threading.Event()
    job = queue.add("n", {})
    loser = start(first.__call__)
    wait_until(lambda: first.started == [job.id])
    # Or else it might take the job again, once its handler is cancelled.
    loser.pause(do_not_wait_active=True)
    take_away(redis, queue, job)
    start(lambda _job: second.set(), skip_stalled_check=False, stalled_interval=100)
    assert second.wait(20)
    wait_until(lambda: job.id in first.cancelled, "the first handler is cancelled")
    wait_until(lambda: noticed(loser, messages) == 1)
    wait_until(lambda: queue.get_job_counts("active", "completed") == {"active": 0, "completed": 1})


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
def test_the_handler_is_cancelled_within_200_ms(queue: Queue, redis: Redis, start: Callable) -> None:
    handler = Handler()
    jobs = queue.add_bulk([{"name": "n"}] * 5)
    start(handler, concurrency=5)
    wait_until(lambda: len(handler.started) == 5)
    times = []
    for job in jobs:
        take_away(redis, queue, job)
        began = time.monotonic()
        # What the check for stalled jobs publishes.
        redis.publish("bull:ext:owls", f"{queue.name}:{job.id}")
        wait_until(lambda job=job: job.id in handler.cancelled)
        times.append(handler.cancelled[job.id] - began)
    assert sorted(times)[2] < 0.2, times


def test_a_late_message_after_the_job_was_fetched_again_is_ignored(
    queue: Queue, redis: Redis, messages: str, start: Callable
) -> None:
    handler = Handler()
    kept, given = queue.add_bulk([{"name": "n"}] * 2)
    worker = start(handler, concurrency=2)
    wait_until(lambda: len(handler.started) == 2)
    take_away(redis, queue, given, "somebody else")
    if messages == "delivered":
        for text in [f"{queue.name}:{kept.id}", f"{queue.name}:nobody", queue.name, "", "x" * 10_000, f"{queue.name}:"]:
            redis.publish("bull:ext:owls", text)
        # Messages arrive in order: once this one has worked, the others had no effect.
        redis.publish("bull:ext:owls", f"{queue.name}:{given.id}")
    wait_until(lambda: given.id in handler.cancelled, "the job that is somebody else's is cancelled")
    assert kept.id not in handler.cancelled
    wait_until(lambda: noticed(worker, messages) == 1)
    assert redis.get(queue.to_key(f"{given.id}:lock")) == "somebody else"


def test_a_job_of_a_route_is_cancelled_and_one_of_the_base_with_the_same_id_is_not(
    queue: Queue, redis: Redis, messages: str, start: Callable
) -> None:
    cancelled: list[str] = []

    def handler(job: Job) -> None:
        while not job.cancelled and not end.is_set():
            NEVER.wait(0.005)
        cancelled.extend([job.queue_name] * job.cancelled)

    end = threading.Event()
    with queue.route({"capabilities": ["gpu"]}) as route:
        ours, routed = queue.add("n", {}), route.add("n", {})
        assert ours.id == routed.id
        worker = start(handler, concurrency=2, profile={"capabilities": ["gpu"]})
        wait_until(lambda: worker.health().in_hand == 2)
        take_away(redis, route, routed, "somebody else")
        if messages == "delivered":
            redis.publish("bull:ext:owls", f"{route.name}:{routed.id}")
        wait_until(lambda: cancelled == [route.name])
        assert redis.get(queue.to_key(f"{ours.id}:lock")) != "somebody else"
        end.set()
        wait_until(lambda: queue.get_job_counts("completed") == {"completed": 1})
    assert cancelled == [route.name]


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
def test_a_worker_leaves_the_channel_when_it_is_closed(queue: Queue, redis: Redis, start: Callable) -> None:
    worker = start(lambda _job: None)
    wait_until(lambda: redis.pubsub_numsub("bull:ext:owls")[0][1] == 1)
    worker.close()
    wait_until(lambda: redis.pubsub_numsub("bull:ext:owls")[0][1] == 0)


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
def test_a_message_that_came_during_an_outage_is_made_up_for(queue: Queue, redis: Redis, start: Callable) -> None:
    handler = Handler()
    kept, taken = queue.add_bulk([{"name": "n"}] * 2)
    start(handler, concurrency=2)
    wait_until(lambda: len(handler.started) == 2)
    wait_until(lambda: redis.pubsub_numsub("bull:ext:owls")[0][1])
    take_away(redis, queue, taken)
    redis.client_kill_filter(_type="pubsub")
    wait_until(lambda: taken.id in handler.cancelled)
    assert kept.id not in handler.cancelled


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
def test_a_worker_that_may_not_listen_says_so_and_works(
    queue: Queue, redis: Redis, redis_url: str, start: Callable, queue_name: str
) -> None:
    redis.acl_setuser("deaf", enabled=True, passwords=["+s3cret"], keys=["*"], commands=["+@all"], reset_channels=True)
    errors: list[str] = []
    worker = Worker(queue_name, lambda _job: 1, url=redis_url.replace("//", "//deaf:s3cret@"), notify=True)
    worker.on("error", lambda error: errors.append(str(error)))
    job = queue.add("n", {})
    with worker:
        threading.Thread(target=worker.run, daemon=True).start()
        assert job.wait_until_finished(timeout=20_000) == 1
        text = wait_until(lambda: next((text for text in errors if "no messages arrive" in text), None))
        assert "NOPERM" in text and "s3cret" not in text
