"""Handlers by the name of the job: what `Worker("mail", {"welcome": send})` and a task registry give a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from bullrush.errors import InvalidOptionError
from bullrush.retries import Classifier
from bullrush.worker.handlers.signature import imported


@dataclass(frozen=True)
class Route:
    """How the jobs of one name are run.

    Attributes:
        function: gets a job: a plain function a `bullrush.Job`, a coroutine function a `bullrush.aio.Job`.
        timeout: ms that a run may take, instead of the worker's ``timeout``.
        classify: decides about exceptions of these jobs, before the worker's ``classify`` is asked.
        lock_duration: ms that the locks of these jobs last; the worker's ``lock_durations`` take precedence.
    """

    function: Callable[..., Any]
    timeout: int | None = None
    classify: Classifier | None = None
    lock_duration: int | None = None


class HandlerSource(Protocol):
    """What a worker can be made of instead of a queue's name and a handler: `Worker(source)`."""

    @property
    def queue(self) -> str:
        """The queue's name."""

    @property
    def url(self) -> str | None:
        """The URL of Redis, if the worker has no option ``url``."""

    @property
    def prefix(self) -> str:
        """The prefix of all keys, if the worker has no option ``prefix``."""

    @property
    def worker_options(self) -> Mapping[str, Any]:
        """Other options of the worker, where it has none of its own."""

    def routes(self) -> Mapping[str, Route]:
        """Return the handlers by the names of the jobs. A worker asks once, when it is made."""

    def running(self, worker: Any) -> AbstractContextManager[None]:
        """Return a block that is entered before the first job of a run and left after the last one.

        For a `bullrush.Worker` that has only plain functions; on the thread that runs it. If it raises, no handler
        starts and the run ends with this error.

        Args:
            worker: the worker that runs.
        """

    def arunning(self, worker: Any) -> AbstractAsyncContextManager[None]:
        """Return the same for a worker with an event loop: every `aio.Worker`, and one with a coroutine function.

        It is entered and left on that loop.

        Args:
            worker: the worker that runs.
        """


def is_source(given: object) -> bool:
    """Tell whether an object is a `HandlerSource`."""
    calls = (getattr(given, "routes", None), getattr(given, "running", None))
    return not isinstance(given, type) and all(map(callable, calls))


def check_handler(handler: object) -> None:
    """Refuse a task or a registry in the place of a handler: a task would get the job as its first argument.

    Raises:
        InvalidOptionError: it is one of them.
    """
    if is_source(handler):
        raise InvalidOptionError(f"{handler!r} has the name of the queue and the handlers: write Worker(tasks)")
    if callable(getattr(handler, "enqueue", None)):
        raise InvalidOptionError(
            f"{handler!r} is a task and no handler of jobs: a worker takes its registry, Worker(tasks)"
        )


def routes_of(handlers: Mapping[Any, Any]) -> dict[str, Route]:
    """Return the routes of a mapping of names to handlers.

    Raises:
        InvalidOptionError: it is empty, a name is not a text, or a handler is not a function.
    """
    if not handlers:
        raise InvalidOptionError('handlers by name must have at least one: {"welcome": send_welcome}')
    routes = {}
    for name, handler in handlers.items():
        if not isinstance(name, str):
            raise InvalidOptionError(f"the name of a job must be a text, not {name!r}")
        function = imported(handler) if isinstance(handler, str) else handler
        check_handler(function)
        if not callable(function):
            raise InvalidOptionError(f"the handler of {name!r} must be a function, not {function!r}")
        routes[name] = Route(function)
    return routes
