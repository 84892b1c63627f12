"""Custom backoff strategies: how long a failed job waits before it runs again."""

import asyncio
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from bullrush import Job, Queue, Worker, aio, errors

Make = Callable[..., Worker]


def boom(job: Job) -> None:
    raise ValueError("boom")


def fails_once(job: Job) -> int:
    if job.attempts_made == 0:
        raise ValueError("boom")
    return job.attempts_made


def delays_of(w: Worker) -> list[int]:
    """Return the delays that the worker reports for failed attempts."""
    delays: list[int] = []
    w.on("failed", lambda job, error: delays.append(job.delay))
    return delays


def test_a_strategy_decides_how_long_to_wait(queue: Queue, worker: Make) -> None:
    asked = []

    def strategy(attempts_made: int, kind: str, error: BaseException, job: object) -> int:
        asked.append((attempts_made, kind, str(error)))
        return -1 if attempts_made == 2 else 10

    queue.add("n", attempts=5, backoff={"type": "mine", "delay": 1})
    stats = worker(boom, backoff_strategy=strategy).run(until="drained")
    assert asked == [(1, "mine", "boom"), (2, "mine", "boom")]
    assert (stats.failed, stats.retried) == (1, 1)


@pytest.mark.parametrize(
    ("kind", "meant"), [("mine", " There are: exponential, fixed"), ("exponental", " Did you mean 'exponential'?")]
)
def test_a_job_whose_strategy_the_worker_has_not_fails_with_its_own_error_and_the_option_that_is_missing(
    kind: str, meant: str, queue: Queue, worker: Make, caplog: pytest.LogCaptureFixture
) -> None:
    job = queue.add("n", attempts=5, backoff={"type": kind})
    worker(boom).run(until="drained")
    stored = queue.get_job(job.id)
    assert stored is not None
    needs = f"the backoff type {kind!r} needs an option of the worker, Worker(backoff_strategy=...)"
    assert stored.failed_reason == f"boom (not retried: {needs}.{meant})"
    assert stored.failed_reason in caplog.text
    assert stored.stacktrace[0].startswith("ValueError: boom\n")


@pytest.mark.parametrize(
    ("answer", "delay"),
    [(150.7, 151), (None, 0), (math.nan, 0), (-5, 0), (0, 0), (timedelta(milliseconds=20), 20)],
)
def test_the_result_of_a_strategy_means_the_same_as_in_node(
    answer: Any, delay: int, queue: Queue, worker: Make
) -> None:
    w = worker(fails_once, backoff_strategy=lambda *_: answer)
    delays = delays_of(w)
    queue.add("n", attempts=2, backoff={"type": "mine"})
    stats = w.run(until="drained")
    assert (stats.completed, stats.retried, delays) == (1, 1, [delay])


@pytest.mark.parametrize("answer", ["5", True, math.inf, object()])
def test_an_invalid_result_of_a_strategy_does_not_lose_an_attempt(answer: Any, queue: Queue, worker: Make) -> None:
    w = worker(fails_once, backoff_strategy=lambda *_: answer)
    delays, reported = delays_of(w), []
    w.on("error", reported.append)
    queue.add("n", attempts=2, backoff={"type": "mine", "delay": 15})
    stats = w.run(until="drained")
    assert (stats.completed, stats.retried, delays) == (1, 1, [15])
    assert [type(error) for error in reported] == [errors.InvalidOptionError]


def test_a_strategy_that_raises_does_not_lose_an_attempt(queue: Queue, worker: Make) -> None:
    w = worker(fails_once, backoff_strategy=lambda *_: 1 / 0)
    reported: list[BaseException] = []
    w.on("error", reported.append)
    job = queue.add("n", attempts=2, backoff={"type": "mine"})
    stats = w.run(until="drained")
    stored = queue.get_job(job.id)
    assert stored is not None
    assert (stats.completed, stats.retried, stored.failed_reason) == (1, 1, "boom")
    assert [type(error) for error in reported] == [ZeroDivisionError]


async def slowly(made: int, kind: str, error: BaseException, job: object) -> int:
    await asyncio.sleep(0.001)
    return 10


async def fails_once_async(job: aio.Job) -> int:
    return fails_once(job)  # type: ignore[arg-type]


def each_fails_once(jobs: list[Job]) -> list[Any]:
    return [ValueError("boom") if job.attempts_made == 0 else None for job in jobs]


async def each_fails_once_async(jobs: list[aio.Job]) -> list[Any]:
    return each_fails_once(jobs)  # type: ignore[arg-type]


KINDS = [
    {"handler": fails_once},
    {"handler": fails_once_async},
    {"batch_handler": each_fails_once, "batch_size": 2},
    {"batch_handler": each_fails_once_async, "batch_size": 2},
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_strategy_may_be_a_coroutine_function(kind: dict[str, Any], queue: Queue, worker: Make) -> None:
    w = worker(**kind, backoff_strategy=slowly)
    delays = delays_of(w)
    queue.add_bulk([{"name": "n", "opts": {"attempts": 2, "backoff": {"type": "mine"}}}] * 2)
    stats = w.run(until="drained")
    assert (stats.completed, stats.retried, delays) == (2, 2, [10, 10])


@pytest.mark.parametrize("handler", [fails_once, fails_once_async])
def test_a_strategy_is_awaited_on_the_loop_of_an_asyncio_worker(handler: Any, redis_url: str, queue_name: str) -> None:
    async def main() -> None:
        loops = []

        async def strategy(made: int, kind: str, error: BaseException, job: object) -> int:
            loops.append(asyncio.get_running_loop())
            return await slowly(made, kind, error, job)

        async with (
            aio.Queue(queue_name, url=redis_url) as queue,
            aio.Worker(queue_name, handler, url=redis_url, settings={"backoff_strategy": strategy}) as worker,
        ):
            await queue.add("n", attempts=2, backoff={"type": "mine"})
            stats = await worker.run(until="drained")
            assert (stats.completed, stats.retried) == (1, 1)
            assert (loops == [asyncio.get_running_loop()]) == (handler is fails_once_async)

    asyncio.run(main())


def test_a_strategy_may_be_a_coroutine_function_for_a_manual_worker(queue: Queue, worker: Make) -> None:
    w = worker(backoff_strategy=slowly)
    queue.add("n", attempts=2, backoff={"type": "mine"})
    job = w.get_next_job("token")
    assert job is not None
    job.move_to_failed(ValueError("boom"))
    assert (job.delay, job.get_state() in {"delayed", "waiting"}) == (10, True)
