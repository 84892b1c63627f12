"""Tasks whose jobs have targets, and the test kit."""

import asyncio
from typing import Any

import pytest

from bullrush import FlowProducer, Tasks, Worker, enqueue_many
from bullrush.errors import InvalidOptionError
from bullrush.testing import assert_enqueued, make_job

GPU: Any = {"capabilities": ["gpu"]}
EU: Any = {"region": ["eu"]}


@pytest.fixture
def tasks(redis_url: str, queue_name: str) -> Any:
    registry = Tasks(queue_name, url=redis_url)
    yield registry
    registry.close()


def test_the_jobs_of_a_task_go_to_its_route(tasks: Tasks, redis_url: str) -> None:
    @tasks.task(target=GPU)
    def render(n: int) -> set[int]:
        return {n}

    job = render.enqueue(7)
    assert job.queue_name == f"{tasks.queue}~cap.gpu"
    elsewhere = render.using(target=EU).enqueue(8)
    assert elsewhere.queue_name == f"{tasks.queue}~reg.eu"
    assert render.using(target=None).enqueue(9).queue_name == tasks.queue
    assert (job.id, elsewhere.id) == ("1", "1")
    found = render.get_job("1")
    assert found is not None
    assert found.data == {"n": 7}
    also = render.using(target=EU).get_job("1")
    assert also is not None
    assert also.data == {"n": 8}
    Worker(job.queue_name, {"render": lambda job: [job.data["n"]]}, url=redis_url).run(until="empty")
    assert job.result(10_000) == {7}


def test_many_jobs_and_flows_of_tasks_have_targets(tasks: Tasks, redis_url: str) -> None:
    @tasks.task(target=GPU)
    def render(n: int) -> None: ...

    @tasks.task
    def plain(n: int) -> None: ...

    jobs = enqueue_many([plain.bind(1), render.bind(2), plain.bind(3)])
    assert [job.queue_name.removeprefix(tasks.queue) for job in jobs] == ["", "~cap.gpu", ""]
    with FlowProducer(url=redis_url) as flows:
        tree = flows.add(plain.bind(4).flow([render.bind(5)]))
    assert tree.children[0].job.queue_name == f"{tasks.queue}~cap.gpu"

    async def add() -> str:
        return (await render.aenqueue(6)).queue_name

    assert asyncio.run(add()) == f"{tasks.queue}~cap.gpu"


def test_a_wrong_target_is_refused_where_the_task_is_defined(tasks: Tasks) -> None:
    with pytest.raises(InvalidOptionError, match="Did you mean 'capabilities'"):

        @tasks.task(target={"capability": ["gpu"]})  # type: ignore[typeddict-unknown-key]
        def render() -> None: ...

    with pytest.raises(InvalidOptionError, match="runs by itself has no target"):

        @tasks.cron("0 0 * * *", tz="UTC", target=GPU)
        def nightly() -> None: ...


def test_an_eager_task_runs_whatever_its_target(tasks: Tasks) -> None:
    @tasks.task(target=GPU)
    def render(n: int) -> int:
        return n + 1

    tasks.eager = True
    assert render.enqueue(1).result() == 2


def test_all_tasks_of_a_registry_may_have_one_target(redis_url: str, queue_name: str) -> None:
    registry = Tasks(queue_name, url=redis_url, default_job_options={"target": GPU})

    @registry.task
    def render() -> None: ...

    assert render.enqueue().queue_name == f"{queue_name}~cap.gpu"
    registry.close()


def test_the_test_kit_finds_jobs_of_routes(tasks: Tasks) -> None:
    @tasks.task(target=GPU)
    def render(n: int) -> None: ...

    render.enqueue(7)
    assert assert_enqueued(tasks, "render", times=1, n=7).queue_name == f"{tasks.queue}~cap.gpu"
    assert make_job(1, opts={"target": GPU, "attempts": 3}).opts["attempts"] == 3
