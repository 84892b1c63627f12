"""The arguments of a handler: the job, and the lock token if it takes two."""

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import pytest

from bullrush import Job, Queue, Worker, aio, errors

from . import process_handlers

Make = Callable[..., Worker]


def job_alone(job: Job) -> Any:
    return "alone"


def both(job: Job, token: str) -> Any:
    return ["both", token == job.token, bool(token)]


async def both_async(job: aio.Job, token: str) -> Any:
    return ["both", token == job.token, bool(token)]


def default(job: Job, limit: int = 7) -> Any:
    return limit


def any_number(*arguments: Any) -> Any:
    return len(arguments)


def keyword(job: Job, *, limit: int = 7) -> Any:
    return limit


class Service:
    def method(self, job: Job, token: str) -> Any:
        return both(job, token)

    def __call__(self, job: Job, token: str) -> Any:
        return both(job, token)


class AsyncService:
    async def __call__(self, job: aio.Job, token: str) -> Any:
        return both(job, token)  # type: ignore[arg-type]


BOTH = ["both", True, True]


@pytest.mark.parametrize(
    ("handler", "result"),
    [
        (job_alone, "alone"),
        (both, BOTH),
        (both_async, BOTH),
        (lambda job, token: both(job, token), BOTH),
        (Service().method, BOTH),
        (Service(), BOTH),
        (AsyncService(), BOTH),
        (functools.partial(any_number, "first"), 2),
        (functools.partial(lambda first, job, token: both(job, token), "first"), BOTH),
        (default, 7),
        (any_number, 1),
        (keyword, 7),
        ("tests.python.worker.test_handlers:both", BOTH),
    ],
)
def test_a_handler_gets_the_token_if_it_needs_two_arguments(
    handler: Any, result: Any, queue: Queue, worker: Make
) -> None:
    reported: list[Any] = []
    w = worker(handler)
    for event in ("completed", "failed"):
        w.on(event, lambda job, what: reported.append(what))
    queue.add("n")
    w.run(until="drained")
    assert reported == [result]


def test_a_handler_in_a_process_of_its_own_gets_the_token_too(queue: Queue, worker: Make) -> None:
    reported: list[Any] = []
    w = worker(process_handlers.both, isolation="process")
    for event in ("completed", "failed"):
        w.on(event, lambda job, what: reported.append(what))
    queue.add("n")
    w.run(until="drained")
    assert reported == [BOTH]


@pytest.mark.parametrize("handler", [both, both_async])
def test_a_handler_called_by_process_job_gets_the_token(handler: Any, queue: Queue, worker: Make) -> None:
    w = worker(handler)
    added = queue.add("n")
    job = w.get_next_job("mine")
    assert job is not None
    w.process_job(job)
    assert added.wait_until_finished(timeout=5_000) == BOTH


def test_an_asyncio_worker_gives_the_token_too(redis_url: str, queue_name: str) -> None:
    async def main() -> None:
        async with (
            aio.Queue(queue_name, url=redis_url) as queue,
            aio.Worker(queue_name, both_async, url=redis_url) as worker,
        ):
            job = await queue.add("n")
            await worker.run(until="drained")
            assert await job.wait_until_finished(timeout=5_000) == BOTH

    asyncio.run(main())


@pytest.mark.parametrize("handler", [lambda: None, lambda job, token, signal: None, lambda *, job: None])
def test_a_handler_that_cannot_be_called_is_refused_when_the_worker_is_made(handler: Any, worker: Make) -> None:
    with pytest.raises(errors.InvalidOptionError, match="handler must take a job, or a job and its token"):
        worker(handler)


def test_a_batch_handler_gets_jobs_and_nothing_else(worker: Make) -> None:
    with pytest.raises(errors.InvalidOptionError, match="batch_handler must take a list of jobs"):
        worker(batch_handler=both)
