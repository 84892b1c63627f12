"""`update_progress` with a row: the number and the row of the log in one call."""

import asyncio

import pytest
from redis import Redis

from bullrush import Queue, aio, errors
from tests.watching import commands_about


@pytest.mark.parametrize(
    ("keep", "kept"), [(None, ["Scene 1", "Scene 2"]), (1, ["Scene 2"]), (0, ["Scene 1", "Scene 2"])]
)
def test_a_row_is_logged_with_the_progress(keep: int | None, kept: list[str], queue: Queue) -> None:
    job = queue.add("film", **({} if keep is None else {"keep_logs": keep}))  # type: ignore[arg-type]
    job.update_progress(25, "Scene 1")
    job.update_progress({"percent": 50}, "Scene 2")
    stored = queue.get_job(job.id)
    assert stored is not None
    assert (stored.progress, queue.get_job_logs(job.id)["logs"]) == ({"percent": 50}, kept)


def test_it_is_one_call_of_the_server(queue: Queue, redis: Redis) -> None:
    job = queue.add("film")
    job.update_progress(1, "warm")
    with commands_about(queue.name, redis) as commands:
        job.update_progress(2, "one call")
        assert commands() == ["EVALSHA"]


def test_awaited_jobs_do_the_same(redis_url: str, queue_name: str) -> None:
    async def main() -> object:
        async with aio.Queue(queue_name, url=redis_url) as queue:
            job = await queue.add("film")
            await job.update_progress(25, "Scene 1")
            return (await queue.get_job_logs(job.id))["logs"]

    assert asyncio.run(main()) == ["Scene 1"]


def test_a_refused_progress_logs_nothing(queue: Queue) -> None:
    job = queue.add("film")
    with pytest.raises(errors.InvalidOptionError):
        job.update_progress(101, "Scene 1")
    assert queue.get_job_logs(job.id)["logs"] == []
