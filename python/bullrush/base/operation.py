"""One implementation of every call, and the two ways to wait for it.

A method decorated with `operation` is written once, as a coroutine that awaits `reply`, `sleep` and `maybe_await` and
nothing else. A class that derives from `Blocking` gets it as a plain method that blocks. A class that derives from
`Async` gets it as a coroutine method for asyncio.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeAlias, TypeVar, overload

from bullrush import _core
from bullrush.base.completions import result_of
from bullrush.base.signatures import shows_options
from bullrush.errors import InvalidOptionError, UnknownOptionError
from bullrush.telemetry.spans import SpanRule, traced
from bullrush.values.naming import by_keyword, check_known, surrogate_error

if TYPE_CHECKING:
    from typing_extensions import Self

P = ParamSpec("P")
T = TypeVar("T")

#: What an operation waits for: a result of the core, perhaps until a time, a number of seconds, or an awaitable of the
#: user's code.
_Step: TypeAlias = "_core.Pending[Any] | _Until | float | Awaitable[Any]"
_Steps: TypeAlias = Coroutine[_Step, Any, T]


class reply(Generic[T]):  # noqa: N801 - reads as a verb: `await reply(...)`
    """Awaits one result of the core inside an operation.

    Args:
        pending: what is awaited.
        until: when it ends without the result, by `time.monotonic`; None waits as long as the core does.

    Raises:
        LateReplyError: it is not there in time. The core goes on with it.
    """

    __slots__ = ("_pending", "_until")

    def __init__(self, pending: _core.Pending[T], until: float | None = None) -> None:
        self._pending, self._until = pending, until

    def __await__(self) -> Generator[_core.Pending[T] | _Until, Any, T]:
        result: T = yield self._pending if self._until is None else _Until(self._pending, self._until)
        return result


class LateReplyError(Exception):
    """A result of the core was not there in time."""


class _Until(NamedTuple):
    """A result of the core, and when nobody waits for it any more, by `time.monotonic`."""

    pending: _core.Pending[Any]
    end: float

    @property
    def left(self) -> float:
        """The seconds until then."""
        return max(0.0, self.end - time.monotonic())


class sleep:  # noqa: N801 - used like `asyncio.sleep`
    """Waits some seconds inside an operation."""

    __slots__ = ("_length",)

    def __init__(self, length: float) -> None:
        self._length = length

    def __await__(self) -> Generator[float, None, None]:
        yield self._length


class maybe_await:  # noqa: N801 - reads as a verb: `await maybe_await(strategy(...))`
    """Returns what a function of the user returned, inside an operation, and awaits it before if it is awaitable."""

    __slots__ = ("_given",)

    def __init__(self, given: object) -> None:
        self._given = given

    def __await__(self) -> Generator[Awaitable[Any], Any, Any]:
        if inspect.isawaitable(self._given):
            return (yield self._given)
        return self._given


class Blocking:
    """Base of classes whose operations block."""

    __slots__ = ()

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        for name, found in _operations(cls):
            setattr(cls, name, _as_blocking(found))


class Async:
    """Base of classes whose operations are awaited."""

    __slots__ = ()

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        for name, found in _operations(cls):
            setattr(cls, name, _as_async(found))


class operation(Generic[P, T]):  # noqa: N801 - a decorator
    """Marks a method that blocks or is awaited, as its class decides.

    Inside another operation its ``steps`` are awaited: ``await QueueAdding.add.steps(self, "render", data)``.

    `Blocking` and `Async` replace it by a function; `__get__` is for type checkers.
    """

    def __init__(self, steps: Callable[Concatenate[Any, P], _Steps[T]]) -> None:
        if not inspect.iscoroutinefunction(steps):
            raise TypeError(f"@operation is for `async def`, which {getattr(steps, '__name__', steps)!r} is not")
        self.steps: Callable[..., _Steps[T]] = steps
        self.__doc__ = steps.__doc__

    @overload
    def __get__(self, instance: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Async, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    def __get__(self, instance: object, owner: type) -> object:
        if instance is None:
            return self
        raise TypeError(f"{owner.__name__} is neither Blocking nor Async")


def _operations(cls: type) -> list[tuple[str, Callable[..., _Steps[Any]]]]:
    found: dict[str, operation[Any, Any]] = {}
    for base in reversed(cls.__mro__):
        found.update((name, value) for name, value in vars(base).items() if isinstance(value, operation))
    spans: Mapping[str, SpanRule] = getattr(cls, "_spans", {})
    return [
        (name, traced(name, spans[name], value.steps) if name in spans else value.steps)
        for name, value in found.items()
        if isinstance(getattr(cls, name), operation)
    ]


def _as_blocking(steps: Callable[..., _Steps[T]]) -> Callable[..., T]:
    @functools.wraps(steps)
    def call(*args: Any, **kwargs: Any) -> T:
        try:
            begun = steps(*args, **kwargs)
        except TypeError:
            _refuse_arguments(steps, args, kwargs)
            raise
        return run_blocking(begun)

    return shows_options(call)


def _as_async(steps: Callable[..., _Steps[T]]) -> Callable[..., Coroutine[Any, Any, T]]:
    @functools.wraps(steps)
    async def call(*args: Any, **kwargs: Any) -> T:
        try:
            begun = steps(*args, **kwargs)
        except TypeError:
            _refuse_arguments(steps, args, kwargs)
            raise
        return await run_async(begun)

    return shows_options(call)


def options_by_name(function: Callable[P, T]) -> Callable[P, T]:
    """Show the options of a function by name, and explain the mistake if they are given by position or a wrong name.

    An `operation` does both already.
    """
    if isinstance(function, operation):
        raise TypeError("@operation explains mistakes itself: leave @options_by_name out")

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except UnknownOptionError:
            raise  # a TypeError, too; it says what is wrong already
        except TypeError:
            _refuse_arguments(function, args, kwargs)
            raise

    return shows_options(call)


def _refuse_arguments(function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Raise an error that shows the call if options were given by position, or the name that was meant."""
    parameters = inspect.signature(function).parameters.values()
    positional = [parameter.name for parameter in parameters if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
    named = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    callee = type(args[0]).__name__ if function.__name__ == "__init__" else function.__name__
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    if not takes_all:
        known = [name for name in (*positional, *named) if name != "self"]
        check_known(kwargs, known, callee if callee[0].isupper() else f"{callee}()")
    if len(args) <= len(positional):
        return
    if takes_all:
        raise UnknownOptionError(by_keyword(callee)) from None
    if named:
        example = ", ".join([*positional[1:], f"{named[0]}=..."])
        raise UnknownOptionError(f"options are keyword arguments: {callee}({example})") from None


def run_blocking(steps: _Steps[T]) -> T:
    """Run an operation, blocking this thread without the GIL."""
    try:
        step = steps.send(None)
        while True:
            try:
                value = _wait_for_step(step)
            except BaseException as error:  # the operation handles it
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        result: T = end.value
        return result
    except UnicodeEncodeError as error:
        raise _unicode_error(error) from None


def _unicode_error(error: UnicodeEncodeError) -> InvalidOptionError:
    """Return the error for a text that cannot be passed to the core. Nothing was sent."""
    return surrogate_error("A text", error.object, error.start)


def _wait_for_step(step: _Step) -> object:
    if isinstance(step, float):
        time.sleep(step)
        return None
    if isinstance(step, Awaitable):
        if asyncio._get_running_loop() is not None:
            if inspect.iscoroutine(step):
                step.close()
            raise RuntimeError(
                "An event loop runs on this thread: await the twin of this call, aenqueue() or bullrush.aio"
            )
        return asyncio.run(_as_coroutine(step))
    if isinstance(step, _Until):
        try:
            return step.pending.wait(round(step.left * 1000))
        except TimeoutError:
            raise LateReplyError from None
    return step.wait()


async def _as_coroutine(given: Awaitable[Any]) -> object:
    return await given


async def run_async(steps: _Steps[T]) -> T:
    """Run an operation on the running event loop."""
    try:
        step = steps.send(None)
        while True:
            try:
                value = await _await_step(step)
            except BaseException as error:  # the operation handles it
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        result: T = end.value
        return result
    except UnicodeEncodeError as error:
        raise _unicode_error(error) from None


async def _await_step(step: _Step) -> object:
    if isinstance(step, float):
        await asyncio.sleep(step)
        return None
    if isinstance(step, Awaitable):
        return await step
    if isinstance(step, _Until):
        try:
            return await asyncio.wait_for(result_of(step.pending), step.left)
        except asyncio.TimeoutError:
            raise LateReplyError from None
    return await result_of(step)
