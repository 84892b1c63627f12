"""Options given by position, as in BullMQ for Node: the error shows the call in Python."""

import asyncio
import inspect
import pydoc
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

import bullrush
from bullrush import aio, errors
from bullrush.events import QueueEventsOptions
from bullrush.events.producer import QueueEventsProducerOptions
from bullrush.flow import FlowOptions
from bullrush.job import JobOptions
from bullrush.queue import QueueOptions
from bullrush.scheduler import SchedulerOptions
from bullrush.tasks import TaskOptions
from bullrush.testing import awork, work
from bullrush.worker import WorkerOptions

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


@pytest.mark.parametrize(
    ("call", "positional", "options"),
    [
        (bullrush.Queue, ["name"], QueueOptions),
        (aio.Queue, ["name"], QueueOptions),
        (bullrush.Queue.add, ["self", "name", "data"], JobOptions),
        (aio.Queue.add, ["self", "name", "data"], JobOptions),
        (bullrush.Worker, ["queue_name", "handler"], WorkerOptions),
        (aio.Worker, ["queue_name", "handler"], WorkerOptions),
        (bullrush.FlowProducer, [], FlowOptions),
        (bullrush.JobScheduler, ["name"], SchedulerOptions),
        (bullrush.QueueEvents, ["name"], QueueEventsOptions),
        (bullrush.QueueEventsProducer, ["name"], QueueEventsProducerOptions),
        (bullrush.Tasks.task, ["self", "function", "name"], TaskOptions),
        (bullrush.Tasks.cron, ["self", "pattern", "tz", "name"], TaskOptions),
        (bullrush.Task.using, ["self"], JobOptions),
        (work, ["queue", "handler", "max_jobs"], WorkerOptions),
        (awork, ["queue", "handler", "max_jobs"], WorkerOptions),
    ],
    ids=lambda value: getattr(value, "__qualname__", None),
)
def test_signature_and_type_hints_show_the_options_by_name(call: Any, positional: list[str], options: Any) -> None:
    names = [*positional, *options.__annotations__]
    assert [*inspect.signature(call).parameters] == names
    hints = get_type_hints(call.__init__ if isinstance(call, type) else call)
    assert [name for name in hints if name != "return"] == [name for name in names if name != "self"]
    assert {name: hints[name] for name in options.__annotations__} == get_type_hints(options)


def test_help_shows_the_options_by_name() -> None:
    assert "lock_duration: 'Duration' = ..." in pydoc.render_doc(bullrush.Worker)
    assert "attempts: 'int | None' = ..." in pydoc.render_doc(bullrush.Queue.add)
