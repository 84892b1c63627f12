"""The handlers that a worker was given: one for all jobs, one per name, or one for batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bullrush.errors import InvalidOptionError
from bullrush.worker.handlers.dispatch import Dispatch
from bullrush.worker.handlers.signature import imported, is_async, of_job, of_jobs
from bullrush.worker.routes import HandlerSource, Route, check_handler, is_source, routes_of

if TYPE_CHECKING:
    from bullrush.values.options import Settings


@dataclass
class Handlers:
    """The handlers of a worker, by how they run.

    Attributes:
        plain: runs a job, or a batch, on a thread; None if no handler is a plain function.
        coroutine: runs a job, or a batch, on an event loop; None if no handler is a coroutine function.
        routes: the handlers by name; empty if there is one for all jobs.
        dispatch: finds a handler by name; None if there is one for all jobs.
        pickled: what handler processes load.
        source: what the worker was made of, if not of a queue's name.
    """

    plain: Callable[[Any], Any] | None = None
    coroutine: Callable[[Any], Any] | None = None
    routes: Mapping[str, Route] = field(default_factory=dict)
    dispatch: Dispatch | None = None
    pickled: bytes = b""
    source: HandlerSource | None = None

    def __bool__(self) -> bool:
        return self.plain is not None or self.coroutine is not None

    def runs_on_loop(self, name: str) -> bool:
        """Tell whether a job of this name runs as a coroutine."""
        if self.dispatch is not None:
            return self.dispatch.is_async(name)
        return self.coroutine is not None

    def of(self, name: str) -> Callable[[Any], Any] | None:
        """Return what runs a job of this name."""
        return self.coroutine if self.runs_on_loop(name) else self.plain

    def wrap(self, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Put a function of the same kind around what runs jobs."""
        self.plain = self.plain and wrapper(self.plain)
        self.coroutine = self.coroutine and wrapper(self.coroutine)

    @property
    def timeouts(self) -> dict[str, int]:
        """The ms that runs of jobs may take, by name, where the handler says so."""
        return {name: route.timeout for name, route in self.routes.items() if route.timeout is not None}

    @property
    def lock_durations(self) -> dict[str, int]:
        """The ms that locks of jobs last, by name, where the handler says so."""
        return {name: route.lock_duration for name, route in self.routes.items() if route.lock_duration is not None}


def given_handlers(queue: str | HandlerSource, handler: Any, settings: Settings) -> Handlers:
    """Return the handlers for the arguments of a worker.

    Raises:
        InvalidOptionError: they cannot be used, or not together.
    """
    batch, by_name = settings.batch_handler, isinstance(handler, Mapping)
    source = queue if is_source(queue) else None
    if handler is not None and batch is not None:
        raise InvalidOptionError("A worker takes a handler or a batch_handler, not both")
    if source is not None and (handler is not None or batch is not None):
        raise InvalidOptionError(f"{source!r} has the handlers already: write Worker(tasks)")
    if source is not None:
        return _named(source.routes(), settings, source)  # type: ignore[union-attr]
    if by_name:
        return _named(routes_of(handler), settings)
    function = handler if handler is not None else batch
    if isinstance(function, str):
        function = imported(function)
    if function is None:
        return Handlers()
    check_handler(function)
    if not callable(function):
        raise InvalidOptionError(f"handler must be a function, or functions by the names of jobs, not {function!r}")
    pickled = _pickled(function) if settings.isolation == "process" else b""
    function = of_job(function) if batch is None else of_jobs(function)
    return Handlers(coroutine=function, pickled=pickled) if is_async(function) else Handlers(function, pickled=pickled)


def _named(routes: Mapping[str, Route], settings: Settings, source: Any = None) -> Handlers:
    functions = {name: route.function for name, route in routes.items()}
    pickled = _pickled(functions) if settings.isolation == "process" else b""
    dispatch = Dispatch(functions, delay_unknown=settings.unknown == "delay")
    return Handlers(dispatch.plain, dispatch.coroutine, routes, dispatch, pickled, source)


def _pickled(handlers: Any) -> bytes:
    # Imported here, since only isolation="process" needs `multiprocessing`.
    from bullrush.worker.process.runner import pickled_handlers

    return pickled_handlers(handlers)
