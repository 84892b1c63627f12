"""Options given by position, as in BullMQ for Node: the error shows the call in Python."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

import bullrush
from bullrush import aio, errors

URL = "redis://127.0.0.1:1/0"
EXAMPLE = "options are keyword arguments: add(name, data, attempts=3)"

CLASSES: dict[str, tuple[str, Callable[[Any], object]]] = {
    "Queue": ("Queue(name, url=", lambda kind: kind("q", {"prefix": "p"})),
    "Worker": ("Worker(queue_name, handler, concurrency=8)", lambda kind: kind("q", print, {"concurrency": 3})),
    "FlowProducer": ("FlowProducer(url=", lambda kind: kind({"prefix": "p"})),
    "QueueEvents": ("QueueEvents(name, url=", lambda kind: kind("q", {"prefix": "p"})),
    "QueueEventsProducer": ("QueueEventsProducer(name, url=", lambda kind: kind("q", {"prefix": "p"})),
    "JobScheduler": ("JobScheduler(name, url=", lambda kind: kind("q", {"prefix": "p"})),
}


def add_with_position(queue: Any) -> Any:
    return queue.add("n", {}, {"attempts": 3})


def test_options_of_a_job_by_position_are_refused_with_the_call_to_write() -> None:
    with pytest.raises(errors.UnknownOptionError) as caught:
        add_with_position(bullrush.Queue("q", url=URL))
    assert str(caught.value) == EXAMPLE


def test_options_of_a_job_by_position_are_refused_with_asyncio() -> None:
    with pytest.raises(errors.UnknownOptionError) as caught:
        asyncio.run(add_with_position(aio.Queue("q", url=URL)))
    assert str(caught.value) == EXAMPLE


def test_options_of_a_flow_by_position_are_refused_with_the_call_to_write() -> None:
    add: Any = bullrush.FlowProducer(url=URL).add
    with pytest.raises(errors.UnknownOptionError, match=r"keyword arguments: add\(flow, queues_options=\.\.\.\)$"):
        add({"name": "n", "queue_name": "q"}, {"queues_options": {}})


@pytest.mark.parametrize("module", [bullrush, aio], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("name", CLASSES)
def test_options_of_a_class_by_position_are_refused_with_the_call_to_write(module: Any, name: str) -> None:
    example, make = CLASSES[name]
    with pytest.raises(errors.UnknownOptionError) as caught:
        make(getattr(module, name))
    assert str(caught.value).startswith(f"options are keyword arguments: {example}")


def test_other_wrong_arguments_get_the_error_of_python() -> None:
    make: Any = bullrush.Queue
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        make()
    add: Any = make("q", url=URL).add
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        add()


def test_signatures_show_the_options() -> None:
    assert [*inspect.signature(bullrush.Queue).parameters] == ["name", "options"]
    assert [*inspect.signature(bullrush.Worker).parameters] == ["queue_name", "handler", "options"]
    assert [*inspect.signature(bullrush.Queue.add).parameters] == ["self", "name", "data", "options"]
