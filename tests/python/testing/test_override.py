"""Tasks get other dependencies during a test."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from bullrush import Depends, Queue, Tasks
from bullrush.errors import InvalidOptionError
from bullrush.testing import awork, override, work


def address() -> str:
    raise AssertionError("the real one is not asked")


@contextmanager
def mailer(*, host: str = Depends(address)) -> Iterator[str]:
    yield f"mailer of {host}"


@asynccontextmanager
async def pool() -> AsyncIterator[str]:
    raise AssertionError("the real one is not opened")
    yield ""


@pytest.fixture
def tasks(redis_url: str, queue_name: str) -> Iterator[Tasks]:
    registry = Tasks(queue_name, url=redis_url)
    yield registry
    registry.close()


def test_a_task_gets_the_replacement_and_later_the_real_one_again(tasks):
    @tasks.task
    def send(*, by: str = Depends(mailer)) -> str:
        return by

    faked = send.enqueue()
    with override(mailer, lambda: "fake"):
        work(tasks)
    inner = send.enqueue()
    with override(address, lambda: "localhost"):
        with override(address, lambda: "example.com"):
            pass
        work(tasks)
    assert [faked.result(1_000), inner.result(1_000)] == ["fake", "mailer of localhost"]
    real = send.enqueue()
    assert work(tasks).failed == 1
    assert "the real one is not asked" in send.get_job(real.id).failed_reason


def test_a_task_on_an_event_loop_gets_what_the_replacement_opens(tasks):
    closed = []

    @asynccontextmanager
    async def fake() -> AsyncIterator[str]:
        yield "fake"
        closed.append("fake")

    @tasks.task
    async def query(*, pool: str = Depends(pool, scope="worker")) -> str:
        return pool

    async def run() -> str:
        job = await query.aenqueue()
        with override(pool, fake):
            await awork(tasks)
        return await job.result(1_000)

    assert asyncio.run(run()) == "fake"
    assert closed == ["fake"]


def test_a_value_is_not_a_replacement():
    with pytest.raises(InvalidOptionError, match="two functions that make a value, not 'fake'"):
        override(pool, "fake").__enter__()


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_data_that_does_not_fit_opens_no_dependency(tasks, kind):
    opened = []
    if kind == "def":

        @tasks.task
        def send(to: str, *, by: object = Depends(lambda: opened.append(1))) -> None: ...
    else:

        @tasks.task
        async def send(to: str, *, by: object = Depends(lambda: opened.append(1))) -> None: ...

    with Queue(tasks.queue, url=tasks.url) as queue:
        queue.add("send", {"to": 7}, attempts=3)
    stats = work(tasks)
    assert (stats.failed, stats.retried, opened) == (1, 0, [])
