"""Workers: handlers of every kind, and how a run ends."""

import asyncio
import functools
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from bullrush import Job, Queue, RunStats, Worker, aio, errors
from tests.waiting import wait_until

Make = Callable[..., Worker]


def test_a_plain_function_gets_a_job_and_its_result_is_stored(queue: Queue, worker: Make) -> None:
    job = queue.add("double", {"n": 21})
    stats = worker(lambda job: {"twice": job.data["n"] * 2}).run(until="drained")
    assert (stats.completed, stats.failed, stats.retried) == (1, 0, 0)
    read = queue.get_job(job.id)
    assert read is not None
    assert (read.returnvalue, read.attempts_made, read.attempts_started) == ({"twice": 42}, 1, 1)
    assert read.finished_on is not None
    assert read.processed_on is not None
    assert read.processed_on <= read.finished_on


def test_a_coroutine_function_gets_a_job_to_await(queue: Queue, worker: Make) -> None:
    async def handler(job: aio.Job) -> int:
        await job.update_progress(50)
        await asyncio.sleep(0)
        return await job.log("row")

    job = queue.add("n")
    worker(handler).run(until="drained")
    read = queue.get_job(job.id)
    assert read is not None
    assert (read.returnvalue, read.progress) == (1, 50)


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_as_many_jobs_run_at_a_time_as_concurrency_says(queue: Queue, worker: Make, kind: str) -> None:
    together = threading.Barrier(4)
    running = []
    everyone: list[asyncio.Event] = []

    async def handler(job: aio.Job) -> None:
        everyone[0:0] = [] if everyone else [asyncio.Event()]
        running.append(job.id)
        if len(running) == 4:
            everyone[0].set()
        await asyncio.wait_for(everyone[0].wait(), 10)

    queue.add_bulk([{"name": "n"}] * 4)
    function = handler if kind == "async def" else lambda job: together.wait(10)
    assert worker(function, concurrency=4).run(until="drained").completed == 4


@pytest.mark.parametrize("prefetch", [None, 0])
def test_slow_jobs_behind_quick_ones_run_at_the_same_time(queue: Queue, worker: Make, prefetch: int | None) -> None:
    together = threading.Barrier(4)

    def handler(job: Job) -> None:
        if job.name == "slow":
            together.wait(10)

    queue.add_bulk([{"name": "quick"}] * 500 + [{"name": "slow"}] * 4 + [{"name": "quick"}] * 20)
    stats = worker(handler, concurrency=4, prefetch=prefetch).run(until="drained")
    assert (stats.completed, stats.failed) == (524, 0)


def test_large_jobs_are_fetched_in_small_groups_so_that_redis_is_not_blocked(queue: Queue, worker: Make) -> None:
    fetches: Counter[str | None] = Counter()

    async def handler(job: aio.Job) -> None:
        fetches[job.token] += 1
        while fetches.total() < 600:
            await asyncio.sleep(0.01)

    queue.add_bulk([{"name": "n", "data": "x" * 10_000}] * 600)
    worker(handler, concurrency=600).run(until="drained")
    first, *others = fetches.values()
    assert first > max(others)
    assert max(others) * 10_000 <= 512 * 1024


def test_functions_that_hide_a_coroutine_function_are_awaited(queue: Queue, worker: Make) -> None:
    class Handler:
        async def __call__(self, job: aio.Job) -> str:
            return "called"

    async def partial(prefix: str, job: aio.Job) -> str:
        return prefix

    for function, result in ((Handler(), "called"), (functools.partial(partial, "bound"), "bound")):
        job = queue.add("n")
        worker(function).run(until="drained")
        assert job.wait_until_finished() == result


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_batch_handler_gets_many_jobs_and_returns_a_result_for_each(queue: Queue, worker: Make, kind: str) -> None:
    sizes = []

    def batch(jobs: list) -> list:
        sizes.append(len(jobs))
        return [ValueError("odd") if job.data % 2 else job.data * 10 for job in jobs]

    async def batch_async(jobs: list) -> list:
        return batch(jobs)

    jobs = queue.add_bulk([{"name": "n", "data": i} for i in range(100)])
    stats = worker(batch_handler=batch if kind == "def" else batch_async, batch_size=30).run(until="drained")
    assert (stats.completed, stats.failed) == (50, 50)
    assert max(sizes) <= 30
    assert len(sizes) < 50
    assert jobs[6].wait_until_finished() == 60
    with pytest.raises(errors.JobFailedError, match="^odd$"):
        jobs[7].wait_until_finished()


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        (lambda jobs: [1], "batch_handler must return a list with one result per job: 2 jobs, got 1"),
        (lambda jobs: None, "batch_handler must return a list with one result per job: 2 jobs, got NoneType"),
        (lambda jobs: 1 / 0, "division by zero"),
        (lambda jobs: [{1}, {2}], "returnvalue: set is not JSON serializable; use sorted(...)"),
    ],
)
def test_a_batch_handler_that_breaks_fails_its_jobs(queue: Queue, worker: Make, batch: Callable, reason: str) -> None:
    queue.add_bulk([{"name": "n"}] * 2)
    worker(batch_handler=batch, batch_size=2).run(until="drained")
    assert [job.failed_reason for job in queue.get_failed()] == [reason] * 2


def test_until_empty_leaves_delayed_jobs_and_drained_waits_for_those_within_the_horizon(
    queue: Queue, worker: Make
) -> None:
    queue.add("now")
    queue.add("soon", delay=300)
    queue.add("late", delay=600_000)
    w = worker(lambda job: None)
    assert w.run(until="empty").completed == 1
    assert w.run(until="drained", horizon=timedelta(seconds=5)).completed == 1
    assert queue.get_delayed_count() == 1


def test_a_run_ends_soon_after_its_condition_holds(queue: Queue, worker: Make) -> None:
    queue.add_bulk([{"name": "n"}] * 10)
    for kind in ("empty", "drained"):
        assert worker(lambda job: None).run(until=kind).seconds < 4, "less than one wait for jobs, the drain_delay"


def test_max_jobs_ends_the_run_and_gives_back_the_rest(queue: Queue, worker: Make) -> None:
    queue.add_bulk([{"name": "n"}] * 50)
    stats = worker(lambda job: None, concurrency=4).run(max_jobs=20)
    assert stats.completed == 20
    assert queue.get_job_counts("waiting", "active", "completed") == {
        "waiting": 30, "paused": 0, "active": 0, "completed": 20,
    }  # fmt: skip


def test_max_seconds_ends_the_run(worker: Make) -> None:
    stats = worker(lambda job: None).run(max_seconds=0.2)
    assert isinstance(stats, RunStats)
    assert 0.2 <= stats.seconds < 4, "less than one wait for jobs, the drain_delay"


def test_a_worker_runs_again_but_not_twice_at_a_time(queue: Queue, worker: Make) -> None:
    w = worker(lambda job: None, autorun=True)
    assert w.is_running()
    with pytest.raises(RuntimeError, match=r"^Worker is already running\.$"):
        w.run()
    w.close()
    assert not w.is_running()
    with pytest.raises(errors.ClosedError):
        w.run()


def test_autorun_works_in_the_background(queue: Queue, worker: Make) -> None:
    w = worker(lambda job: "done", autorun=True)
    assert queue.add("n").wait_until_finished(timeout=10_000) == "done"
    w.close()


def test_close_waits_for_running_jobs_and_takes_no_more(queue: Queue, worker: Make) -> None:
    started, go_on = threading.Event(), threading.Event()

    def handler(job: Job) -> None:
        started.set()
        go_on.wait(10)

    queue.add_bulk([{"name": "n"}] * 3)
    w = worker(handler, autorun=True)
    started.wait(10)
    closing = threading.Thread(target=w.close)
    closing.start()
    wait_until(lambda: w._run is not None and w._run.closing)
    assert w.is_running()
    go_on.set()
    closing.join(10)
    assert not w.is_running()
    assert queue.get_job_counts("waiting", "active", "completed") == {
        "waiting": 2,
        "paused": 0,
        "active": 0,
        "completed": 1,
    }


def test_past_its_deadline_close_cancels_jobs_and_leaves_them_to_others(queue: Queue, worker: Make) -> None:
    started, go_on = threading.Event(), threading.Event()
    cancelled = []

    def handler(job: Job) -> None:
        started.set()
        go_on.wait(10)
        cancelled.append(job.cancelled)

    queue.add("n")
    w = worker(handler, autorun=True)
    started.wait(10)
    w.close(timeout=50)
    assert not w.is_running()
    assert queue.get_active_count() == 1
    go_on.set()
    wait_until(lambda: cancelled == [True])


def test_past_its_deadline_close_cancels_tasks(queue: Queue, worker: Make) -> None:
    happened = []

    async def handler(job: aio.Job) -> None:
        happened.append("started")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            happened.append("cancelled")
            raise

    queue.add("n")
    w = worker(handler, autorun=True)
    wait_until(lambda: happened == ["started"])
    w.close(timeout=50)
    wait_until(lambda: happened == ["started", "cancelled"])


def test_a_worker_can_be_closed_from_its_own_handler_and_listener(queue: Queue, worker: Make) -> None:
    queue.add_bulk([{"name": "n"}] * 5)
    w = worker(lambda job: w.close())
    assert w.run().completed == 1
    v = worker(lambda job: None)
    v.on("completed", lambda job, result: v.close())
    assert v.run().completed >= 1


def test_pause_waits_for_running_jobs_and_resume_goes_on(queue: Queue, worker: Make) -> None:
    done = []
    w = worker(lambda job: done.append(job.id), autorun=True)
    w.pause()
    assert w.is_paused()
    queue.add("n")
    time.sleep(0.05)
    assert done == []
    w.resume()
    wait_until(lambda: len(done) == 1)
    assert not w.is_paused()


def test_concurrency_can_grow_while_it_runs(queue: Queue, worker: Make) -> None:
    together = threading.Barrier(3)
    w = worker(lambda job: together.wait(10), autorun=True)
    w.concurrency = 3
    assert w.concurrency == 3
    for job in queue.add_bulk([{"name": "n"}] * 3):
        job.wait_until_finished(timeout=10_000)
    with pytest.raises(errors.InvalidOptionError, match="concurrency must be a finite number greater than 0"):
        w.concurrency = 0


def test_jobs_have_the_name_of_the_worker_that_ran_them(queue: Queue, worker: Make) -> None:
    job = queue.add("n")
    worker(lambda job: job.processed_by, name="w1").run(until="drained")
    assert job.wait_until_finished() == "w1"


def test_keep_rules_of_the_worker_apply_to_jobs_without_their_own(queue: Queue, worker: Make) -> None:
    queue.add_bulk([{"name": "n"}] * 5 + [{"name": "n", "opts": {"remove_on_complete": False}}])
    worker(lambda job: None, remove_on_complete={"count": 0}).run(until="drained")
    assert queue.get_completed_count() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency": 0}, "concurrency must be a finite number greater than 0"),
        ({"concurrency": 1.5}, "concurrency must be a finite number greater than 0, not 1.5"),
        ({"concurrency": "8"}, "concurrency must be a finite number greater than 0, not '8'"),
        ({"drain_delay": 0}, "drain_delay must be greater than 0"),
        ({"stalled_interval": 0}, "stalled_interval must be greater than 0"),
        ({"max_stalled_count": -1}, "max_stalled_count must be greater or equal than 0"),
        ({"max_started_attempts": -1}, "max_started_attempts must be greater or equal than 0"),
        ({"lock_duration": "30s"}, "lock_duration must be whole milliseconds or a timedelta"),
        ({"lock_duration": None}, "lock_duration must be whole milliseconds or a timedelta"),
        ({"limiter": {"max": 1}}, "limiter needs max and duration (ms), such as {'max': 10, 'duration': 1000}"),
        ({"batch_size": 5}, "batch_size needs a batch_handler"),
        ({"timeout": 0}, "timeout must be greater than 0"),
        ({"isolation": "fork"}, "isolation must be 'thread' or 'process', not 'fork'"),
        ({"lockDuration": 1}, "Worker has no option 'lockDuration': options are snake_case here, use 'lock_duration'"),
        ({"concurency": 1}, "Worker has no option 'concurency'. Did you mean 'concurrency'?"),
        ({"batch_handler": print}, "A worker takes a handler or a batch_handler"),
    ],
)
def test_a_bad_worker_option_is_refused(options: dict, message: str) -> None:
    with pytest.raises(errors.InvalidOptionError) as refused:
        Worker("q", print, **options)
    assert str(refused.value).startswith(message)


def test_a_worker_needs_a_handler_to_run() -> None:
    with pytest.raises(
        RuntimeError, match=r"No process function is defined\. Pass the handler .*: Worker\(queue_name, handler\)"
    ):
        Worker("q").run()
    with pytest.raises(errors.InvalidOptionError, match="a handler or a batch_handler"):
        Worker("q", print, batch_handler=print)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidOptionError, match=r"autorun needs a handler: Worker\(queue_name, handler"):
        Worker("q", autorun=True)
    with pytest.raises(errors.InvalidOptionError, match="handler must be a function"):
        Worker("q", 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["os.path", "no_such_module.render", "os:no_such_function", "os.path:", "my tasks"])
def test_a_name_that_is_no_handler_is_refused_with_the_form_to_write(name: str) -> None:
    with pytest.raises(errors.InvalidOptionError, match="The handler .*: write 'module:function'"):
        Worker("q", name)
