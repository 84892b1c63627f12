"""A worker prefetches jobs to be fast. Counters, limits, pauses, priorities and fair shares stay as without it."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import DelayedError, Job, Queue, RateLimitError, Worker
from tests.waiting import wait_until

Make = Callable[..., Worker]
Running = Callable[[Worker], threading.Thread]


class Gated:
    """Records every start; the job named ``slow`` runs until the gate is opened."""

    def __init__(self) -> None:
        self.starts: list[str] = []
        self.began = threading.Event()
        self.gate = threading.Event()

    def __call__(self, job: Job) -> None:
        self.starts.append(job.data or job.name)
        if job.name == "slow":
            self.began.set()
            assert self.gate.wait(20)


@pytest.fixture
def gated() -> Iterator[Gated]:
    gated = Gated()
    yield gated
    gated.gate.set()


@pytest.fixture
def running() -> Iterator[Running]:
    """Run workers in the background; they are closed before their threads are joined."""
    threads: list[tuple[Worker, threading.Thread]] = []

    def run(worker: Worker) -> threading.Thread:
        thread = threading.Thread(target=worker.run)
        thread.start()
        threads.append((worker, thread))
        return thread

    yield run
    for worker, thread in threads:
        worker.close(force=True)
        thread.join()


def one_slow_among_quick(queue: Queue, before: int = 300, behind: int = 200) -> None:
    """Add quick jobs, so that a worker prefetches many, then a slow one, then more quick ones."""
    quick: list[dict[str, Any]] = [{"name": "quick"}]
    queue.add_bulk(quick * before + [{"name": "slow"}] + quick * behind)


# counters


@pytest.mark.parametrize("workers", [1, 4])
def test_max_started_attempts_of_one_fails_no_job_that_never_ran(queue: Queue, worker: Make, workers: int) -> None:
    def handler(job: Job) -> None:
        if job.name == "slow":
            time.sleep(0.06)

    queue.add_bulk([{"name": "slow" if n % 20 == 5 else "quick"} for n in range(400)])
    made = [worker(handler, max_started_attempts=1) for _ in range(workers)]
    threads = [threading.Thread(target=lambda one=one: one.run(until="drained")) for one in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert queue.get_job_counts("completed", "failed") == {"completed": 400, "failed": 0}


def test_attempts_started_counts_starts(queue: Queue, worker: Make) -> None:
    """Also when jobs are prefetched, given back by a slow job or a closing worker, and fetched again."""
    first: dict[str, int] = {}

    def handler(job: Job) -> None:
        first.setdefault(job.id, job.attempts_started)
        if job.name == "slow":
            time.sleep(0.06)

    queue.add_bulk([{"name": "slow" if n % 20 == 5 else "quick"} for n in range(400)])
    for _ in range(4):
        worker(handler, concurrency=2).run(until="empty", max_jobs=50)
        waiting = queue.get_waiting(0, -1)
        assert {(job.attempts_started, job.processed_on, job.attempts_made) for job in waiting} == {(0, None, 0)}
    worker(handler).run(until="drained")
    assert Counter(first.values()) == {1: 400}
    assert {job.attempts_started for job in queue.get_completed(0, -1)} == {1}


@pytest.mark.parametrize("options", [{}, {"priority": 5}], ids=["plain", "priority"])
@pytest.mark.parametrize("prefetch", [None, 40])
def test_a_job_given_back_is_as_it_was(
    queue: Queue,
    worker: Make,
    redis: Redis,
    gated: Gated,
    running: Running,
    options: dict[str, Any],
    prefetch: int | None,
) -> None:
    """Its hash, its place in ``wait``, its score in ``prioritized``."""
    base = f"bull:{queue.name}:"
    one_slow_among_quick(queue, behind=0)
    behind = [job.id for job in queue.add_bulk([{"name": "quick", "opts": options}] * 60)]

    def seen() -> Any:
        prioritized = redis.zrange(base + "prioritized", 0, -1, withscores=True)
        return redis.lrange(base + "wait", 0, len(behind) - 1), prioritized, [redis.hgetall(base + id) for id in behind]

    expected = seen()
    closing = worker(gated, prefetch=prefetch, name="somebody")
    running(closing)
    assert gated.began.wait(20)
    threading.Thread(target=closing.close).start()
    wait_until(lambda: redis.llen(base + "active") == 1)
    found = seen()
    if options:
        assert (found[1], found[2]) == (expected[1], expected[2])
    else:
        assert found == expected


def test_the_start_of_a_prefetched_job_is_soon_stored(
    queue: Queue, worker: Make, redis: Redis, gated: Gated, running: Running
) -> None:
    """Whether it keeps running, ends, or its handler moves it: its hash has when and where it started, how often."""
    one_slow_among_quick(queue)
    running(worker(gated, name="somebody"))
    assert gated.began.wait(20)
    slow = f"bull:{queue.name}:301"
    wait_until(lambda: redis.hmget(slow, "ats", "pb") == ["1", "somebody"])
    assert redis.hexists(slow, "processedOn")
    gated.gate.set()
    wait_until(lambda: queue.get_completed_count() == 501)
    for job in queue.get_completed(0, -1):
        assert (job.attempts_started, job.processed_by) == (1, "somebody")
        assert job.processed_on <= job.finished_on


def test_a_quick_job_that_its_handler_moves_has_started(queue: Queue, worker: Make, redis: Redis) -> None:
    def handler(job: Job) -> None:
        if job.name == "later" and not job.delay:
            job.move_to_delayed(int(time.time() * 1000) + 60_000)
            raise DelayedError
        if job.name == "failing":
            raise ValueError

    queue.add_bulk([{"name": "quick"}] * 300 + [{"name": "later"}, {"name": "failing"}] * 20 + [{"name": "quick"}] * 50)
    worker(handler).run(until="empty")
    assert queue.get_job_counts("delayed", "failed", "completed") == {"delayed": 20, "failed": 20, "completed": 350}
    assert {job.attempts_started for job in queue.get_delayed() + queue.get_failed()} == {1}
    assert all(job.processed_on for job in queue.get_delayed() + queue.get_failed())


# limits, pauses and closing


@pytest.mark.parametrize("limiter", [None, {"max": 1_000_000, "duration": 60_000}], ids=["no limiter", "a limiter"])
@pytest.mark.parametrize("prefetch", [None, 50])
def test_after_a_rate_limit_error_no_handler_starts(
    queue: Queue, worker: Make, redis: Redis, running: Running, limiter: Any, prefetch: int
) -> None:
    starts: list[str] = []

    def handler(job: Job) -> None:
        starts.append(job.id)
        if job.id == "300" and len(starts) == 300:
            queue.rate_limit(60_000)
            raise RateLimitError

    ids = [job.id for job in queue.add_bulk([{"name": "quick"}] * 600)]
    options = {} if limiter is None else {"limiter": limiter}
    running(worker(handler, prefetch=prefetch, **options))
    wait_until(lambda: len(starts) >= 300 and queue.get_active_count() == 0)
    assert starts == ids[:300]
    # Jobs that were under way to the worker come back after the one that met the limit.
    assert sorted(redis.lrange(f"bull:{queue.name}:wait", 0, -1), key=int) == ids[299:]
    redis.delete(f"bull:{queue.name}:limiter")


@pytest.mark.parametrize("how", ["rate_limit", "pause", "close"])
@pytest.mark.parametrize("prefetch", [None, 50])
def test_a_worker_that_has_to_stop_starts_nothing_more(
    queue: Queue,
    worker: Make,
    redis: Redis,
    gated: Gated,
    running: Running,
    how: str,
    prefetch: int | None,
) -> None:
    one_slow_among_quick(queue)
    stopping = worker(gated, prefetch=prefetch, limiter={"max": 1_000_000, "duration": 60_000})
    thread = running(stopping)
    assert gated.began.wait(20)
    match how:
        case "rate_limit":
            stopping.rate_limit(60_000)
        case "pause":
            stopping.pause(do_not_wait_active=True)
        case "close":
            threading.Thread(target=stopping.close).start()
            wait_until(lambda: stopping._run is not None and stopping._run.closing)
    gated.gate.set()
    wait_until(lambda: queue.get_job_counts("completed", "active") == {"completed": 301, "active": 0})
    assert len(gated.starts) == 301
    if how == "close":
        thread.join()
    assert len(gated.starts) == 301
    assert queue.get_waiting_count() == 200


@pytest.mark.parametrize("how", ["pause", "rate limit", "concurrency"])
def test_changes_by_other_clients_hold_from_the_next_reply_on(
    queue: Queue, worker: Make, gated: Gated, running: Running, how: str
) -> None:
    """That reply is the one to the slow job's outcome: nothing starts before it, since no job is prefetched."""
    one_slow_among_quick(queue)
    running(worker(gated))
    assert gated.began.wait(20)
    match how:
        case "pause":
            queue.pause()
        case "rate limit":
            queue.set_global_rate_limit(1, 60_000)
        case "concurrency":
            queue.set_global_concurrency(1)
            queue.add("held elsewhere", lifo=True)
            other = Worker(queue.name, url=queue._url, prefetch=0)
    wait_until(lambda: queue.get_active_count() == 1)
    if how == "concurrency":
        assert other.get_next_job("token", block=False) is None
        queue.set_global_concurrency(2)
        assert other.get_next_job("token", block=False) is not None
        queue.set_global_concurrency(1)
    gated.gate.set()
    wait_until(lambda: queue.get_completed_count() >= 301)
    active = 1 if how == "concurrency" else 0
    started = {"pause": 301, "rate limit": 302, "concurrency": 301}[how]
    wait_until(lambda: len(gated.starts) >= started and queue.get_active_count() == active)
    assert len(gated.starts) == started


def test_after_a_pause_by_another_client_few_prefetched_jobs_start(
    queue: Queue, worker: Make, running: Running
) -> None:
    """Only jobs that start before the next reply; here each takes 10 ms, and a reply much less than half a second."""
    starts: list[str] = []

    def handler(job: Job) -> None:
        starts.append(job.id)
        if len(starts) == 50:
            queue.pause()
        time.sleep(0.01)

    queue.add_bulk([{"name": "short"}] * 200)
    running(worker(handler, prefetch=100))
    wait_until(lambda: len(starts) >= 50 and queue.get_active_count() == 0)
    assert len(starts) <= 100


# order of jobs, and how workers share them


def test_prefetched_jobs_behind_a_slow_job_go_back_to_the_queue_at_once(
    queue: Queue, worker: Make, gated: Gated, running: Running
) -> None:
    """While the slow job still runs."""
    one_slow_among_quick(queue)
    running(worker(gated))
    assert gated.began.wait(20)
    wait_until(lambda: queue.get_waiting_count() == 200 and queue.get_active_count() == 1)


def test_a_job_with_priority_runs_before_prefetched_jobs_behind_a_slow_one(
    queue: Queue, worker: Make, gated: Gated
) -> None:
    queue.add_bulk([{"name": "quick", "opts": {"priority": 2}}] * 300)
    queue.add("slow", priority=3)
    queue.add_bulk([{"name": "quick", "opts": {"priority": 4}}] * 20)
    thread = threading.Thread(target=lambda: worker(gated).run(until="drained"))
    thread.start()
    assert gated.began.wait(20)
    wait_until(lambda: queue.get_active_count() == 1)
    queue.add("urgent", "urgent", priority=1)
    gated.gate.set()
    thread.join()
    assert gated.starts.index("urgent") == 301


def test_workers_share_a_global_concurrency(queue: Queue, worker: Make, running: Running) -> None:
    """Node shares 1,200 jobs among four workers as 334, 291, 286 and 289."""
    queue.set_global_concurrency(4)
    shares = [0] * 4

    def handler_of(number: int) -> Callable[[Job], None]:
        def handler(job: Job) -> None:
            shares[number] += 1
            time.sleep(0.004)

        return handler

    for number in range(4):
        made = worker(handler_of(number))
        running(made)
        made.wait_until_ready()
    queue.add_bulk([{"name": "short"}] * 1200)
    wait_until(lambda: queue.get_completed_count() == 1200)
    assert sum(shares) == 1200
    assert min(shares) >= 200, shares
