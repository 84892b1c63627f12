"""Manual work: jobs are fetched, run and finished by the caller; and the other members of a worker."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from redis import Redis

from bullrush import AttemptResult, FlowProducer, Job, Queue, Worker, aio, errors
from bullrush._core import now_ms
from tests.waiting import wait_until
from tests.watching import connections_for


@pytest.fixture
def worker(redis_url: str, queue_name: str) -> Iterator[Worker]:
    with Worker(queue_name, url=redis_url, drain_delay=200) as worker:
        yield worker


@pytest.fixture
def new_worker(redis_url: str, queue_name: str) -> Callable[..., Worker]:
    return lambda handler=None, **options: Worker(queue_name, handler, url=redis_url, **options)


def test_jobs_are_fetched_and_finished_in_a_loop(queue: Queue, worker: Worker) -> None:
    queue.add_bulk([{"name": "n", "data": n} for n in range(5)])
    job, results = worker.get_next_job("t"), []
    while job is not None:
        assert job.token == "t"
        results.append(job.data)
        following = job.move_to_completed(job.data * 2)
        assert (job.returnvalue, job.attempts_made) == (job.data * 2, 1)
        job = following
    assert results == [0, 1, 2, 3, 4]
    assert queue.get_completed_count() == 5


def _waiting(queue: Queue, redis: Redis) -> list[str]:
    return [one["id"] for one in connections_for(queue.name, redis) if one["cmd"] == "bzpopmin"]


@pytest.mark.parametrize("how", [["KILL", "ID"], ["UNBLOCK"]], ids=["connection_lost", "wait_refused"])
def test_a_wait_for_the_next_job_that_is_cut_off_goes_on(
    queue: Queue, new_worker: Callable[..., Worker], redis: Redis, how: list[str]
) -> None:
    with new_worker(drain_delay=20_000) as worker, ThreadPoolExecutor(1) as calling:
        taken = calling.submit(worker.get_next_job, "t")
        for _ in range(3):
            [waiting] = wait_until(lambda: _waiting(queue, redis))
            redis.execute_command("CLIENT", *how, waiting, *(["ERROR"] if how == ["UNBLOCK"] else []))
            wait_until(lambda: _waiting(queue, redis) != [waiting] or taken.done())  # noqa: B023
        queue.add("n", "later")
        job = taken.result(20)
        assert job is not None and job.data == "later"
        job.move_to_completed(None, fetch_next=False)


def test_a_worker_without_a_handler_cannot_run(worker: Worker) -> None:
    with pytest.raises(RuntimeError, match="No process function is defined"):
        worker.run()
    with pytest.raises(RuntimeError, match="No process function is defined"):
        worker.process_job(worker)  # type: ignore[arg-type]


def test_get_next_job_waits_up_to_the_drain_delay(queue: Queue, worker: Worker, new_worker: Callable) -> None:
    began = time.monotonic()
    assert worker.get_next_job("t", block=False) is None
    assert worker.get_next_job("t") is None
    assert 0.2 <= time.monotonic() - began < 20
    with new_worker(drain_delay=10_000) as waiting:
        threading.Timer(0.2, queue.add, ["n", "new"]).start()
        job = waiting.get_next_job("t")
        assert job is not None and job.data == "new"
        queue.add("n", "later", delay=300)
        job = waiting.get_next_job("t2")
        assert job is not None and job.data == "later"


def test_closing_ends_the_wait(new_worker: Callable) -> None:
    waiting = new_worker(drain_delay=30_000)
    threading.Timer(0.2, waiting.close).start()
    began = time.monotonic()
    assert waiting.get_next_job("t") is None
    assert time.monotonic() - began < 20
    with pytest.raises(errors.ClosedError):
        waiting.get_next_job("t")


def test_a_paused_worker_takes_nothing(queue: Queue, worker: Worker) -> None:
    queue.add("n")
    worker.pause()
    assert worker.get_next_job("t") is None
    worker.resume()
    assert worker.get_next_job("t") is not None


def test_a_rate_limit_holds_for_get_next_job(queue: Queue, new_worker: Callable) -> None:
    queue.add_bulk([{"name": "n"}] * 3)
    with new_worker(limiter={"max": 2, "duration": 300}, drain_delay=5_000) as limited:
        began = time.monotonic()
        assert [limited.get_next_job(f"t{n}") is not None for n in range(3)] == [True] * 3
        assert time.monotonic() - began >= 0.25


def test_a_failure_is_decided_as_in_a_running_worker(queue: Queue, new_worker: Callable) -> None:
    calls: list[Any] = []

    def strategy(made: int, kind: str, error: BaseException, job: Any) -> int:
        calls.append((made, kind, str(error)))
        return 60_000

    queue.add("n", attempts=3, backoff={"type": "mine"})
    with new_worker(settings={"backoff_strategy": strategy}) as worker:
        job = worker.get_next_job("t")
        began = now_ms()
        result = job.move_to_failed(ValueError("boom"))
        assert (result.outcome, result.next_job) == ("retried", None)
        assert began + 60_000 <= result.next_run_at <= now_ms() + 60_000
        assert queue.get_delayed()[0].id == job.id
        assert job.is_delayed() and (job.failed_reason, job.attempts_made) == ("boom", 1)
        assert (len(job.stacktrace), job.delay) == (1, 60_000)
        job.promote()
        job = worker.get_next_job("t")
        assert job.move_to_failed(errors.UnrecoverableError("never")) == AttemptResult("failed")
        assert job.is_failed() and job.finished_on is not None
        assert len(job.stacktrace) == 2
    assert calls == [(1, "mine", "boom")]


def test_a_lost_lock_emits_an_event(queue: Queue, worker: Worker, redis: Any) -> None:
    queue.add("n")
    job = worker.get_next_job("t")
    assert job is not None and not job.cancelled
    assert worker.extend_job_locks() == []
    redis.delete(queue.to_key(f"{job.id}:lock"))
    assert worker.extend_job_locks() == [job.id]
    assert job.cancelled
    with pytest.raises(errors.JobLockMissingError):
        job.move_to_completed("late")
    with pytest.raises(errors.JobLockMissingError):
        job.move_to_failed(ValueError("late"))


def test_a_job_of_a_queue_object_can_be_finished(queue: Queue, worker: Worker) -> None:
    queue.add("n", remove_on_complete=True)
    taken = worker.get_next_job("t")
    assert taken is not None
    job = queue.get_job(taken.id)
    assert job is not None
    assert job.move_to_completed("done", "t", False) is None
    assert queue.get_job(job.id) is None


def test_process_job_runs_the_handler_and_finishes_the_job(queue: Queue, new_worker: Callable) -> None:
    def handler(job: Job) -> Any:
        if job.data == "bad":
            raise ValueError("boom")
        return job.data

    jobs = queue.add_bulk([{"name": "n", "data": data} for data in ("good", "bad", "last")])
    reported: list[Any] = []
    outcomes: list[Any] = []
    with new_worker(handler) as worker:
        worker.on("active", lambda job: reported.append(("active", job.id)))
        worker.on("completed", lambda job, value: reported.append(("completed", value)))
        worker.on("failed", lambda job, error: reported.append(("failed", str(error))))
        job = worker.get_next_job("t")
        while job is not None:
            result = worker.process_job(job, "t", fetch_next=True)
            outcomes.append((result.outcome, result.next_run_at))
            job = result.next_job
    assert outcomes == [("completed", None), ("failed", None), ("completed", None)]
    assert [job.get_state() for job in jobs] == ["completed", "failed", "completed"]
    assert [event for event in reported if event[0] != "active"] == [
        ("completed", "good"),
        ("failed", "boom"),
        ("completed", "last"),
    ]


def test_process_job_fails_what_must_not_run(queue: Queue, new_worker: Callable, redis: Any) -> None:
    job = queue.add("n", attempts=5)
    redis.hset(queue.to_key(job.id), "defa", "child failed")
    often = queue.add("n", attempts=5)
    redis.hset(queue.to_key(often.id), "ats", 3)
    ran: list[Any] = []
    with new_worker(ran.append, max_started_attempts=2) as worker:
        following = worker.get_next_job("t")
        while following is not None:
            following = worker.process_job(following, fetch_next=True).next_job
    assert ran == []
    reasons = [(queue.get_job(each.id) or job).failed_reason for each in (job, often)]
    assert reasons == ["child failed", "job started more than allowable limit"]


def test_manual_work_with_asyncio(queue: Queue, redis_url: str, queue_name: str) -> None:
    async def handler(job: aio.Job) -> Any:
        await job.log("ran")
        return job.data

    async def main() -> None:
        queue.add_bulk([{"name": "n", "data": n} for n in range(3)])
        async with aio.Worker(queue_name, handler, url=redis_url, drain_delay=100) as worker:
            job = await worker.get_next_job("t")
            assert job is not None
            following = await job.move_to_completed("by hand")
            assert following is not None
            result = await worker.process_job(following, fetch_next=True)
            assert result.outcome == "completed" and result.next_job is not None
            result = await result.next_job.move_to_failed(ValueError("boom"))
            assert (result.outcome, result.next_job) == ("failed", None)
            assert await worker.get_next_job("t") is None
            assert await worker.extend_job_locks() == []

    asyncio.run(main())
    assert queue.get_job_counts("completed", "failed") == {"completed": 2, "failed": 1}


@pytest.fixture
def add_children(queue: Queue, redis_url: str) -> Callable[..., Any]:
    """Add children to a running parent: ``add_children(parent)``; the worker of ``<queue>-c`` runs them."""
    return lambda parent: Queue(f"{queue.name}-c", url=redis_url).add(
        "child", {}, delay=300, parent={"id": parent.id, "queue": queue.qualified_name}
    )


@pytest.mark.parametrize("kind", ["thread", "coroutine"])
def test_a_step_job_waits_for_its_children(queue: Queue, redis_url: str, add_children: Callable, kind: str) -> None:
    def step(job: Job) -> Any:
        if job.attempts_started == 1:
            add_children(job)
            assert job.move_to_waiting_children(job.token)
            raise errors.WaitingChildrenError
        assert not job.move_to_waiting_children()
        return job.get_children_values()

    async def step_async(job: aio.Job) -> Any:
        if job.attempts_started == 1:
            await asyncio.to_thread(add_children, job)
            assert await job.move_to_waiting_children(job.token)
            raise errors.WaitingChildrenError
        return await job.get_children_values()

    job = queue.add("parent")
    handler: Any = step if kind == "thread" else step_async
    with (
        Worker(queue.name, handler, url=redis_url, autorun=True),
        Worker(f"{queue.name}-c", lambda job: "ok", url=redis_url, autorun=True),
    ):
        result = job.wait_until_finished(timeout=10_000)
    assert isinstance(result, dict) and list(result.values()) == ["ok"]
    stored = queue.get_job(job.id)
    assert stored is not None and (stored.attempts_started, stored.attempts_made) == (2, 1)


def test_a_parent_with_a_failed_child_fails_without_a_retry(queue: Queue, redis_url: str, redis: Any) -> None:
    job = queue.add("parent", attempts=3)
    heard: list[str] = []

    def handler(job: Job) -> str:
        redis.zadd(queue.to_key(f"{job.id}:unsuccessful"), {"bull:c:1": 1})
        return "done"

    with Worker(queue.name, handler, url=redis_url) as worker:
        worker.on("error", lambda error: heard.append(str(error)))
        worker.run(until="drained")
    stored = queue.get_job(job.id)
    message = f"Cannot complete job {job.id} because it has at least one failed child. moveToFinished"
    assert stored is not None and (stored.failed_reason, stored.attempts_made) == (message, 1)
    assert heard == [message]


def test_errors_are_recognized_by_their_names_and_texts_as_in_node(queue: Queue, new_worker: Callable) -> None:
    class WaitingError(Exception):
        """An exception class with the same name in another library."""

    def handler(job: Job) -> str:
        if job.attempts_started > 1:
            return "done"
        if job.name == "named":
            job.move_to_wait()
            raise WaitingError
        queue.rate_limit(200)
        raise RuntimeError("bullmq:rateLimitExceeded")

    queue.add("named")
    queue.add("text")
    stats = new_worker(handler, limiter={"max": 100, "duration": 1000}).run(until="drained")
    assert (stats.completed, stats.failed, stats.retried) == (2, 0, 0)


def test_jobs_of_workers_that_stopped_renewing_locks_are_recovered(
    queue: Queue, new_worker: Callable, redis: Any
) -> None:
    queue.add("n")
    heard: list[str] = []
    with new_worker(stalled_interval=100, max_stalled_count=5) as worker:
        worker.on("stalled", heard.append)
        job = worker.get_next_job("t")
        redis.delete(queue.to_key(f"{job.id}:lock"))
        worker.start_stalled_check_timer()
        for _ in range(200):
            if heard:
                break
            time.sleep(0.05)
    assert heard == [job.id]


def test_other_members_of_a_manual_worker_work(queue: Queue, worker: Worker, new_worker: Callable) -> None:
    assert len(worker.id) == 36 and worker.id == worker.id != new_worker().id
    assert isinstance(worker.RateLimitError(), errors.RateLimitError)
    assert worker.minimum_block_timeout in (0.001, 0.002)
    began = time.monotonic()
    worker.delay(50)
    assert 0.05 <= time.monotonic() - began < 20
    abort = threading.Event()
    threading.Timer(0.05, abort.set).start()
    worker.delay(60_000, abort)
    worker.rate_limit(60_000)
    assert queue.get_rate_limit_ttl() > 0
    assert worker.job_scheduler.get_schedulers_count() == 0


def test_tokens_begin_with_the_workers_id(queue: Queue, new_worker: Callable) -> None:
    tokens = []
    worker = new_worker(lambda job: tokens.append(job.token))
    for _ in range(2):
        queue.add("n")
        worker.run(until="drained")
    assert len(set(tokens)) == 2
    assert all(token.startswith(worker.id) for token in tokens)


def test_a_parent_waits_for_children_in_a_manual_worker(queue: Queue, redis_url: str, worker: Worker) -> None:
    with FlowProducer(url=redis_url) as flows:
        flows.add(
            {
                "name": "p",
                "queue_name": queue.name,
                "children": [{"name": "c", "queue_name": f"{queue.name}-c"}],
            }
        )
    with Worker(f"{queue.name}-c", url=redis_url) as children:
        child = children.get_next_job("t")
        assert child is not None and worker.get_next_job("t", block=False) is None
        child.move_to_completed({"n": 1})
    parent = worker.get_next_job("t", block=False)
    assert parent is not None
    assert list(parent.get_children_values().values()) == [{"n": 1}]


def test_a_job_that_a_flow_added_can_be_finished(queue: Queue, redis_url: str, worker: Worker) -> None:
    with FlowProducer(url=redis_url) as flows:
        job = flows.add({"name": "n", "queue_name": queue.name}).job
        assert worker.get_next_job("t") is not None
        job.move_to_completed("done", "t")
        assert job.is_completed()
