"""A waiter gets a message when a job with the option ``wake`` has finished.

Without the message it finds out at its next look.
"""

import asyncio
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Job, Queue, Worker, aio, errors
from bullrush.job.calls import end_signals, wait_until_finished
from tests.waiting import wait_until

CHANNEL = "bull:ext:chainc"


@pytest.fixture(autouse=True)
def looks(messages: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a waiter look for itself soon if messages are lost, and in effect never if they are delivered."""
    monkeypatch.setattr(end_signals, "RECHECK_MS", 60_000 if messages == "delivered" else 500)


@pytest.fixture
def start(url: str, queue_name: str) -> Iterator[Callable[..., Worker]]:
    workers = []

    def run(handler: Any, queue: str = queue_name, **options: Any) -> Worker:
        workers.append(Worker(queue, handler, url=url, autorun=True, drain_delay=500, **options))
        return workers[-1]

    yield run
    for worker in workers:
        worker.close(force=True)


class Waits:
    """Waits for jobs, each on a thread of its own."""

    def __init__(self) -> None:
        self.results: dict[str, object] = {}
        self._threads: list[threading.Thread] = []

    def start(self, job: Job, **options: Any) -> None:
        def wait() -> None:
            try:
                self.results[job.id] = job.wait_until_finished(timeout=20_000, **options)
            except Exception as error:
                self.results[job.id] = error

        self._threads.append(threading.Thread(target=wait))
        self._threads[-1].start()

    def join(self) -> dict[str, object]:
        for thread in self._threads:
            thread.join()
        return self.results


def listening(redis: Redis) -> int:
    return redis.pubsub_numsub(CHANNEL)[0][1]


def test_waiters_learn_how_their_jobs_ended(queue: Queue, redis: Redis, start: Callable) -> None:
    def handler(job: Job) -> object:
        assert go.wait(20)
        if job.name == "fail":
            raise ValueError("broken")
        return job.data

    go, waits = threading.Event(), Waits()
    jobs = [queue.add("work", n, wake=True) for n in range(5)]
    failing = queue.add("fail", {}, wake=True, attempts=2)
    for job in [*jobs, failing]:
        waits.start(job, via="notify")
    wait_until(lambda: listening(redis) == 1, "all waits share one connection")
    start(handler, concurrency=3)
    go.set()
    results = waits.join()
    assert [results[job.id] for job in jobs] == [0, 1, 2, 3, 4]
    assert isinstance(results[failing.id], errors.JobFailedError) and "broken" in str(results[failing.id])
    wait_until(lambda: listening(redis) == 0)


def test_a_job_that_ended_before_is_seen_at_once(queue: Queue, start: Callable) -> None:
    job = queue.add("n", {}, wake=True)
    start(lambda _job: "done")
    wait_until(job.is_completed)
    assert job.wait_until_finished(via="notify") == "done"
    assert queue.get_job(job.id).wait_until_finished(via="notify", timeout=0) == "done"  # type: ignore[union-attr]


def test_a_removed_job_is_not_found(queue: Queue, redis: Redis, start: Callable) -> None:
    waits, go = Waits(), threading.Event()
    job = queue.add("n", {}, wake=True, remove_on_complete=True)
    start(lambda _job: go.wait(20))
    waits.start(job, via="notify")
    wait_until(lambda: listening(redis) == 1)
    go.set()
    assert isinstance(waits.join()[job.id], errors.JobNotFoundError)


def test_the_root_of_a_flow_wakes_its_waiter(url: str, redis_url: str, queue_name: str, start: Callable) -> None:
    with FlowProducer(url=redis_url) as flows:
        tree = flows.add(
            {
                "name": "root",
                "queue_name": queue_name,
                "data": {},
                "opts": {"wake": True},
                "children": [{"name": "leaf", "queue_name": queue_name, "data": {}}] * 2,
            }
        )
        waits = Waits()
        waits.start(tree.job, via="notify")
        start(lambda job: job.name)
        assert waits.join()[tree.job.id] == "root"


def test_jobs_that_are_finished_by_hand_wake_their_waiters(
    url: str, queue: Queue, redis: Redis, queue_name: str
) -> None:
    waits = Waits()
    jobs = [queue.add("n", {}, wake=True) for _ in range(2)]
    for job in jobs:
        waits.start(job, via="notify")
    wait_until(lambda: listening(redis) == 1)
    with Worker(queue_name, None, url=url) as worker:
        first = worker.get_next_job("token")
        assert first is not None
        second = first.move_to_completed("by hand", "token", fetch_next=True)
        assert second is not None
        second.move_to_failed(ValueError("by hand"), "token", fetch_next=False)
        results = waits.join()
    assert results[first.id] == "by hand"
    assert isinstance(results[second.id], errors.JobFailedError)


def test_asyncio_waits_in_the_same_way(url: str, queue_name: str) -> None:
    async def handler(job: aio.Job) -> int:
        return job.data + 1

    async def program() -> list[object]:
        async with aio.Queue(queue_name, url=url) as queue, aio.Worker(queue_name, handler, url=url) as worker:
            running = asyncio.create_task(worker.run())
            jobs = [await queue.add("n", n, wake=True) for n in range(3)]
            results = await asyncio.gather(*(job.wait_until_finished(via="notify", timeout=20_000) for job in jobs))
            await worker.close()
            await running
            return results

    assert asyncio.run(program()) == [1, 2, 3]


def test_a_wait_without_an_end_times_out_and_tells_the_state(queue: Queue, redis: Redis) -> None:
    job = queue.add("n", {}, wake=True)
    with pytest.raises(TimeoutError, match="no finish notification arrived after 50ms") as late:
        job.wait_until_finished(timeout=50, via="notify")
    assert isinstance(late.value, errors.JobWaitTimeoutError) and late.value.state == "waiting"
    assert "wake=True" not in str(late.value)
    with pytest.raises(errors.JobWaitTimeoutError, match="no option wake=True, so nobody publishes its end"):
        queue.add("n").wait_until_finished(timeout=50, via="notify")
    copy = pickle.loads(pickle.dumps(late.value))
    assert (str(copy), copy.state) == (str(late.value), "waiting")
    wait_until(lambda: listening(redis) == 0)


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
def test_only_finished_jobs_with_the_option_are_announced(queue: Queue, redis: Redis, start: Callable) -> None:
    with redis.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(CHANNEL)
        wait_until(lambda: listening(redis) == 1)
        heard.get_message()

        def handler(job: Job) -> None:
            if job.name == "fail" and job.attempts_started < 2:
                raise ValueError

        queue.add_bulk([{"name": "n"}, {"name": "n", "opts": {"wake": False}}])
        retried = queue.add("fail", {}, wake=True, attempts=2, backoff=50)
        start(handler)
        wait_until(lambda: queue.get_job_counts("completed")["completed"] == 3)
        reported = [wait_until(heard.get_message)["data"]]
        assert redis.publish(CHANNEL, "fence") == 1
        while reported[-1] != "fence":
            reported.append(wait_until(heard.get_message)["data"])
    assert reported == [f"{queue.name}:{retried.id}", "fence"]


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
def test_events_of_a_queue_are_read_once_for_all_waits(
    queue: Queue, redis: Redis, start: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Followed(end_signals.FollowedEvents):
        def begin(self, left: float) -> Any:
            following.append(self._job_id)
            return super().begin(left)

    following: list[str] = []
    monkeypatch.setattr(wait_until_finished, "FollowedEvents", Followed)

    def readers() -> int:
        clients = redis.client_list()
        return sum(client["cmd"] in {"xread", "xrevrange"} or client["name"].endswith(":qe") for client in clients)

    waits, go = Waits(), threading.Event()
    jobs = [queue.add("n", n, remove_on_complete=True) for n in range(4)]
    for job in jobs:
        waits.start(job, via="events")
    wait_until(lambda: set(following) == {job.id for job in jobs})
    wait_until(lambda: readers() == 1)
    start(lambda job: go.wait(20) and job.data)
    go.set()
    assert sorted(waits.join().values()) == [0, 1, 2, 3]  # type: ignore[type-var]
    wait_until(lambda: readers() == 0)
    again = queue.add("n", 7)
    assert again.wait_until_finished(via="events", timeout=20_000) == 7


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
def test_an_unusable_way_is_refused(queue: Queue, redis_url: str) -> None:
    from bullrush import QueueEvents

    job = queue.add("n", {})
    with pytest.raises(errors.InvalidOptionError, match="via must be"):
        job.wait_until_finished(via="message")  # type: ignore[arg-type]
    with QueueEvents(queue.name, url=redis_url) as events, pytest.raises(errors.InvalidOptionError, match="go with"):
        job.wait_until_finished(events, via="notify")
    with pytest.raises(TimeoutError):
        job.wait_until_finished(timeout=20, via="poll")
    with pytest.raises(errors.InvalidOptionError, match="wake"):
        queue.add("n", {}, wake="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
def test_a_waiter_that_may_not_listen_polls(
    queue: Queue, queue_name: str, redis: Redis, redis_url: str, start: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(end_signals, "RECHECK_MS", 300)
    redis.acl_setuser("deaf", enabled=True, passwords=["+s3cret"], keys=["*"], commands=["+@all"], reset_channels=True)
    start(lambda _job: "done")
    with Queue(queue_name, url=redis_url.replace("//", "//deaf:s3cret@")) as deaf:
        job = deaf.add("n", {}, wake=True)
        assert job.wait_until_finished(timeout=20_000, via="notify") == "done"
