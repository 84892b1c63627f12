"""Calls of tasks become jobs: plain BullMQ data under the names of the arguments."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest

from bullrush import Depends, FlowProducer, Middleware, Queue, Task, Tasks, Worker, aenqueue_many, enqueue_many
from bullrush.errors import DataError, InvalidOptionError, QueueNameError, UnknownOptionError

POOL: object = Depends(object)


@pytest.fixture
def welcome(tasks: Tasks) -> Task[..., str]:
    @tasks.task(attempts=5, timeout=30_000)
    def welcome(user_id: int, *, lang: str = "en", pool: object = Depends(object, scope="worker")) -> str:
        return f"{user_id} in {lang}"

    return welcome


def test_the_arguments_of_a_call_are_the_data_of_the_job(welcome, queue):
    job = queue.get_job(welcome.enqueue(7, lang="de").id)
    assert (job.name, job.data, job.opts) == ("welcome", {"user_id": 7, "lang": "de"}, {"attempts": 5})


def test_an_argument_that_was_not_given_is_not_stored(welcome, queue):
    assert queue.get_job(welcome.enqueue(user_id=7).id).data == {"user_id": 7}


def test_the_function_stays_callable(welcome):
    assert welcome(7, lang="de", pool=None) == "7 in de"
    assert (welcome.__name__, welcome.fn(8, pool=None)) == ("welcome", "8 in en")


def test_an_awaited_call_adds_the_same_job(welcome, queue):
    assert queue.get_job(asyncio.run(welcome.aenqueue(7)).id).data == {"user_id": 7}


def test_options_of_a_job_take_precedence_over_those_of_the_task_and_of_the_registry(tasks, welcome, queue):
    @tasks.task
    def digest() -> None: ...

    delayed = welcome.using(delay=60_000, priority=2)
    assert delayed.enqueue(1).opts == {"attempts": 5, "delay": 60_000, "priority": 2}
    assert delayed.using(attempts=1).enqueue(2).opts["attempts"] == 1
    assert welcome.enqueue(3).opts == {"attempts": 5}
    assert digest.enqueue().opts == {"attempts": 3}
    assert queue.get_job_counts("delayed")["delayed"] == 2


def test_many_tasks_are_added_in_order_also_to_several_queues(tasks, welcome, queue, redis_url, queue_name):
    other = Tasks(f"other-{queue_name}", url=redis_url)

    @other.task
    def digest(day: str) -> None: ...

    jobs = enqueue_many([welcome.bind(1), digest.bind("mon"), welcome.bind(2), digest.bind("tue")])
    assert [job.data for job in jobs] == [{"user_id": 1}, {"day": "mon"}, {"user_id": 2}, {"day": "tue"}]
    assert [job.queue_name for job in jobs] == [queue_name, f"other-{queue_name}"] * 2
    assert [job.data for job in queue.get_waiting()] == [{"user_id": 1}, {"user_id": 2}]
    assert [job.data for job in asyncio.run(aenqueue_many([welcome.bind(3)], timeout=5_000))] == [{"user_id": 3}]
    assert enqueue_many([]) == []


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((), {}, "welcome: missing a required argument: 'user_id'"),
        ((1, 2), {}, "welcome: too many positional arguments"),
        ((1,), {"user_id": 1}, "welcome: multiple values for argument 'user_id'"),
        ((1,), {"land": "de"}, "welcome: got an unexpected keyword argument 'land'"),
        ((1,), {"pool": 1}, "welcome: pool comes from the worker (Depends) and cannot be passed to a job"),
    ],
)
def test_a_call_that_python_would_refuse_adds_nothing(welcome, queue, args, kwargs, said):
    with pytest.raises(TypeError) as raised:
        welcome.enqueue(*args, **kwargs)
    assert str(raised.value) == said
    assert queue.count() == 0


def test_an_argument_of_another_type_adds_nothing(welcome, queue):
    with pytest.raises(DataError, match=r"^welcome: data\.user_id: int expected, not str$"):
        enqueue_many([welcome.bind(1), welcome.bind("secret")])
    assert queue.count() == 0


def test_positional_only_arguments_are_named_in_the_data(tasks):
    @tasks.task
    def add(a: int, b: int = 2, /) -> int:
        return a + b

    assert add.bind(1, 3).data == {"a": 1, "b": 3}
    job = add.enqueue(1)
    with Worker(tasks) as worker:
        worker.run(until="empty")
    assert job.result(5_000) == 3
    with pytest.raises(TypeError, match="positional.only"):
        add.bind(a=1)


def test_a_bound_task_serves_flows_and_job_schedulers(welcome, queue, redis_url):
    with FlowProducer(url=redis_url) as producer:
        node = producer.add(welcome.bind(1).flow(children=[welcome.bind(2), welcome.bind(3).flow()]))
    assert node.job.data == {"user_id": 1}
    assert [child.job.data for child in node.children] == [{"user_id": 2}, {"user_id": 3}]
    made = queue.upsert_job_scheduler("nightly", {"every": 3_600_000}, welcome.bind(4).template())
    assert (made.name, made.data, made.opts["attempts"]) == ("welcome", {"user_id": 4}, 5)


def open_file() -> Iterator[str]:
    yield "file"


async def open_connection() -> AsyncIterator[str]:
    yield "connection"


def test_middleware_sees_the_jobs_of_flows_and_not_those_of_schedulers(redis_url, queue):
    class Tenant(Middleware):
        def on_enqueue(self, task: Any) -> Any:
            task.data["_tenant"] = "acme"
            task.opts["priority"] = 3
            return task

    tasks = Tasks(queue.name, url=redis_url, middleware=[Tenant()])
    greet = tasks.task(name="greet")(lambda: None)
    with FlowProducer(url=redis_url) as producer:
        node = producer.add(greet.bind().flow(children=[greet.bind()]))
    for job in node.job, node.children[0].job:
        assert (job.data, job.opts["priority"]) == ({"_tenant": "acme"}, 3)
    assert greet.bind().template() == {"name": "greet", "data": {}, "opts": {}}


def test_middleware_that_forgets_to_return_the_job_is_named_and_nothing_is_added(redis_url, queue):
    class Forgetful(Middleware):
        def on_enqueue(self, task: Any) -> Any:
            task.data["_tenant"] = "acme"

    tasks = Tasks(queue.name, url=redis_url, middleware=[Forgetful()])
    greet = tasks.task(name="greet")(lambda: None)
    with pytest.raises(TypeError, match=r"Forgetful\.on_enqueue must return the NewTask to add, not NoneType"):
        greet.enqueue()
    assert queue.count() == 0


def test_mistakes_are_found_when_the_program_is_imported(tasks, welcome):
    with pytest.raises(UnknownOptionError, match="Did you mean 'attempts'"):
        tasks.task(atempts=3)
    with pytest.raises(UnknownOptionError, match="no option 'atempts'"):
        welcome.using(atempts=3)
    with pytest.raises(InvalidOptionError, match="the worker decides it"):
        welcome.using(timeout=3)
    with pytest.raises(InvalidOptionError, match="has a task 'welcome' already"):
        tasks.task(name="welcome")(print)
    with pytest.raises(InvalidOptionError, match="put it behind a '\\*'"):
        tasks.task(name="x")(lambda pool=POOL: pool)
    with pytest.raises(InvalidOptionError, match="take a list or a dict"):
        tasks.task(name="x")(lambda *users: users)
    with pytest.raises(InvalidOptionError, match="needs the argument 'port'"):
        Depends(lambda port: port)
    with pytest.raises(InvalidOptionError, match="lives as long as the worker"):
        Depends(lambda one=POOL: one, scope="worker")
    with pytest.raises(InvalidOptionError, match=r"put @contextlib\.contextmanager above it"):
        Depends(open_file)
    with pytest.raises(InvalidOptionError, match=r"put @contextlib\.asynccontextmanager above it"):
        Depends(open_connection)
    for wrong in 3, Middleware:
        with pytest.raises(InvalidOptionError, match="objects of subclasses of Middleware"):
            Tasks("mail", middleware=[wrong])
    with pytest.raises(InvalidOptionError, match="lifespan must be a function"):
        Tasks("mail", lifespan=open_file())
    with pytest.raises(InvalidOptionError, match="has no name of its own: give the task a name="):
        tasks.task(partial(welcome.fn, 1))
    with pytest.raises(InvalidOptionError, match="is for functions"):
        tasks.task(dict)
    with pytest.raises(QueueNameError):
        Tasks("a:b")


def test_a_registry_connects_at_its_first_job_and_again_in_a_forked_process(tasks, welcome, queue):
    unreachable = Tasks("mail", url="redis://127.0.0.1:1")
    unreachable.task(lambda: None)
    welcome.enqueue(1)
    if (pid := os.fork()) == 0:
        os._exit(0 if welcome.enqueue(2).id == "2" else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert [job.data["user_id"] for job in queue.get_waiting()] == [1, 2]


def test_neither_payloads_nor_passwords_are_shown(redis_url):
    tasks = Tasks("mail", url="redis://:hush@127.0.0.1:1")

    @tasks.task
    def login(name: str) -> None: ...

    assert "hush" not in repr(tasks) + repr(login)
    assert "secret" not in repr(login.bind("secret"))
    assert Queue("mail", url=redis_url).name == tasks.queue


@pytest.mark.parametrize(
    ("first", "then"),
    [({"priority": 100}, {"lifo": True}), ({}, {"priority": 0, "lifo": True}), ({"priority": 9}, {"lifo": True})],
)
def test_lifo_alone_is_the_very_first_whatever_priority_was_given_before(
    redis_url: str, queue_name: str, first: Any, then: Any
) -> None:
    tasks = Tasks(queue_name, url=redis_url, default_job_options={"priority": 100})
    ran = []

    @tasks.task
    def note(n: int) -> None:
        ran.append(n)

    note.enqueue(1)
    Queue(queue_name, url=redis_url).add("note", {"n": 2})
    note.using(priority=5, lifo=True).enqueue(3)
    note.using(**first).using(**then).enqueue(4)
    with Worker(tasks) as worker:
        worker.run(until="empty")
    assert ran == [4, 2, 3, 1]
    tasks.close()
