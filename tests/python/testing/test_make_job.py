"""Jobs without Redis, for unit tests of handlers."""

import asyncio

import pytest

from bullrush import Job, Tasks, aio, current_job
from bullrush.errors import DataError, InvalidOptionError
from bullrush.testing import make_job


def test_a_handler_is_called_like_any_function() -> None:
    def render(job: Job) -> int:
        job.update_progress(50, "half")
        job.log("more")
        job.update_data({"pages": 8})
        return job.data["pages"]

    job = make_job({"pages": 7}, name="render", attempts_made=2, opts={"attempts": 3, "priority": 5})
    assert (job.name, job.data, job.attempts_made, job.attempts_started) == ("render", {"pages": 7}, 2, 3)
    assert (job.id, job.queue_name, job.priority, job.opts["attempts"], job.cancelled) == ("1", "test", 5, 3, False)
    assert render(job) == 8
    assert (job.progress, job.logged) == (50, ["half", "more"])


def test_a_coroutine_function_awaits_the_calls() -> None:
    async def render(job: aio.Job) -> str:
        await job.update_progress({"page": 1})
        await job.log("done")
        return job.name

    job = make_job(awaited=True)
    assert asyncio.run(render(job)) == "job"
    assert (job.data, job.progress, job.logged) == ({}, {"page": 1}, ["done"])


def test_calls_that_need_redis_say_what_to_use() -> None:
    with pytest.raises(RuntimeError, match="use the fixture bullrush_url"):
        make_job().get_state()


def test_wrong_values_are_refused_as_by_add() -> None:
    with pytest.raises(InvalidOptionError):
        make_job(opts={"attempts": "x"})  # type: ignore[typeddict-item]
    with pytest.raises(DataError):
        make_job({"x": object()})  # type: ignore[dict-item]
    with pytest.raises(InvalidOptionError):
        make_job().update_progress(101)


def test_a_task_that_asks_for_its_job_is_called_like_any_function() -> None:
    tasks = Tasks("albums")

    @tasks.task
    def album(title: str) -> list[str]:
        current_job().log(title)
        return sorted(current_job().get_children_values().values())

    @tasks.task
    async def awaited(title: str) -> list[str]:
        await aio.current_job().log(title)
        return sorted((await aio.current_job().get_children_values()).values())

    with make_job(children_values=["B.JPG", "A.JPG"]) as job:
        assert album("Summer") == ["A.JPG", "B.JPG"]
    with make_job(children_values=["B.JPG", "A.JPG"], awaited=True) as other:
        assert asyncio.run(awaited("Winter")) == ["A.JPG", "B.JPG"]
    assert (job.logged, other.logged) == (["Summer"], ["Winter"])
    assert make_job().get_children_values() == {}
    with pytest.raises(LookupError):
        album("Summer")
    with pytest.raises(DataError, match="children_values"):
        make_job(children_values=[object()])  # type: ignore[list-item]
