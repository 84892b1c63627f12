"""Tasks that are added wake idle workers as jobs of a `Queue` do: with ``fan_out`` and ``notify``."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Task, Tasks, Worker, aenqueue_many, enqueue_many
from bullrush.errors import InvalidOptionError
from tests.waiting import wait_until

CHANNEL = "bull:ext:sched"

Add = Callable[[Task[..., Any], int], Any]


def one_by_one(task: Task[..., Any], count: int) -> Any:
    return [task.enqueue() for _ in range(count)]


def one_by_one_awaited(task: Task[..., Any], count: int) -> Any:
    async def add() -> list[Any]:
        return [await task.aenqueue() for _ in range(count)]

    return asyncio.run(add())


def together(task: Task[..., Any], count: int) -> Any:
    return enqueue_many([task.bind() for _ in range(count)])


def together_awaited(task: Task[..., Any], count: int) -> Any:
    return asyncio.run(aenqueue_many([task.bind() for _ in range(count)]))


def task_of(tasks: Tasks) -> Task[..., Any]:
    return tasks.task(name="n")(lambda: None)


@pytest.mark.parametrize("add", [together, together_awaited])
@pytest.mark.parametrize(("fan_out", "members"), [(True, {"0", "w:2", "w:3"}), (False, {"0"})])
def test_tasks_that_are_added_together_have_a_marker_each(
    add: Add, fan_out: bool, members: set[str], queue_name: str, redis_url: str, redis: Redis
) -> None:
    tasks = Tasks(queue_name, url=redis_url, fan_out=fan_out)
    add(task_of(tasks), 3)
    assert set(redis.zrange(f"bull:{queue_name}:marker", 0, -1)) == members  # type: ignore[arg-type]
    tasks.close()


@pytest.mark.parametrize("add", [one_by_one, one_by_one_awaited, together, together_awaited])
def test_tasks_that_are_added_are_announced_to_workers(add: Add, queue_name: str, redis_url: str, redis: Redis) -> None:
    tasks = Tasks(queue_name, url=redis_url, notify=True)
    with redis.pubsub(ignore_subscribe_messages=True) as listener:
        listener.subscribe(CHANNEL)
        wait_until(lambda: listener.get_message() is None and listener.subscribed)
        add(task_of(tasks), 3)
        wait_until(lambda: (listener.get_message(timeout=1) or {}).get("data") == queue_name)
    assert redis.get(f"bull:{queue_name}:ext:hint") == "3"
    tasks.close()


def test_a_worker_of_a_registry_hears_and_wakes_by_the_options_of_the_registry(queue_name: str, redis_url: str) -> None:
    tasks = Tasks(queue_name, url=redis_url, worker_options={"fan_out": True, "notify": True})
    task_of(tasks)
    settings = Worker(tasks)._settings
    assert (settings.fan_out, settings.notify) == (True, True)


@pytest.mark.parametrize("option", ["fan_out", "notify"])
@pytest.mark.parametrize("value", ["yes", 1, None])
def test_another_value_is_refused_where_the_registry_is_made(option: str, value: Any) -> None:
    with pytest.raises(InvalidOptionError, match=f"{option} must be True or False"):
        Tasks("q", **{option: value})
