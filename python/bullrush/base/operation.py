"""One implementation of every call, and the two ways to wait for it.

A method decorated with `operation` is written once, as a coroutine that awaits `reply` (a result of the core) and `seconds`. A class that derives from
`Blocking` gets it as a plain method that blocks; one that derives from `Awaited` gets it as a coroutine method for asyncio.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import time
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, NoReturn, ParamSpec, TypeAlias, TypeVar, overload

from bullrush import _core
from bullrush.errors import InvalidOptionError
from bullrush.telemetry.spans import SpanRule, traced

if TYPE_CHECKING:
    from typing_extensions import Self

P = ParamSpec("P")
T = TypeVar("T")

#: What a step waits for: a result of the core, seconds to pass, or something of the user's.
_Step: TypeAlias = "_core.Pending[Any] | float | Awaitable[Any]"
_Steps: TypeAlias = Coroutine[_Step, Any, T]


class reply(Generic[T]):  # noqa: N801 - reads as a verb: `await reply(...)`
    """Awaits one result of the core inside an operation."""

    __slots__ = ("_pending",)

    def __init__(self, pending: _core.Pending[T]) -> None:
        self._pending = pending

    def __await__(self) -> Generator[_core.Pending[T], Any, T]:
        result: T = yield self._pending
        return result


class seconds:  # noqa: N801 - reads as what it waits for: `await seconds(0.1)`
    """Lets seconds pass inside an operation."""

    __slots__ = ("_length",)

    def __init__(self, length: float) -> None:
        self._length = length

    def __await__(self) -> Generator[float, None, None]:
        yield self._length


class answer:  # noqa: N801 - reads as what it waits for: `await answer(strategy(...))`
    """Awaits inside an operation what a function of the user returned, if that is to be awaited."""

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
            setattr(cls, name, _blocking(found))


class Awaited:
    """Base of classes whose operations are awaited."""

    __slots__ = ()

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        for name, found in _operations(cls):
            setattr(cls, name, _awaited(found))


class operation(Generic[P, T]):  # noqa: N801 - a decorator
    """Marks a method that blocks or is awaited, as its class decides; this class only tells a type checker so."""

    def __init__(self, steps: Callable[Concatenate[Any, P], _Steps[T]]) -> None:
        self.steps: Callable[..., _Steps[T]] = steps
        self.__doc__ = steps.__doc__

    @overload
    def __get__(self, instance: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Awaited, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    def __get__(self, instance: object, owner: type) -> object:
        if instance is None:
            return self
        return self._undecided(owner)

    def _undecided(self, owner: type) -> NoReturn:
        raise TypeError(f"{owner.__name__} is neither Blocking nor Awaited")


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


def _blocking(steps: Callable[..., _Steps[T]]) -> Callable[..., T]:
    @functools.wraps(steps)
    def call(*args: Any, **kwargs: Any) -> T:
        return wait(steps(*args, **kwargs))

    return call


def _awaited(steps: Callable[..., _Steps[T]]) -> Callable[..., Coroutine[Any, Any, T]]:
    @functools.wraps(steps)
    async def call(*args: Any, **kwargs: Any) -> T:
        return await awaited(steps(*args, **kwargs))

    return call


def wait(steps: _Steps[T]) -> T:
    """Run an operation, blocking this thread without the GIL."""
    try:
        step = steps.send(None)
        while True:
            try:
                value = _wait_for(step)
            except BaseException as error:  # the operation decides
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        result: T = end.value
        return result
    except UnicodeEncodeError as error:
        raise _unencodable(error) from None


def _unencodable(error: UnicodeEncodeError) -> InvalidOptionError:
    """Return the error for a text that was refused on its way to the core, before anything was sent."""
    return InvalidOptionError(f"A text has a lone surrogate, which is not valid UTF-8: {error.object[:100]!r}")


def _wait_for(step: _Step) -> object:
    if isinstance(step, float):
        time.sleep(step)
        return None
    if isinstance(step, Awaitable):
        return asyncio.run(_awaiting(step))
    return step.wait()


async def _awaiting(given: Awaitable[Any]) -> object:
    return await given


async def awaited(steps: _Steps[T]) -> T:
    """Run an operation on the running event loop."""
    try:
        step = steps.send(None)
        while True:
            try:
                value = await _passed(step)
            except BaseException as error:  # the operation decides
                step = steps.throw(error)
            else:
                step = steps.send(value)
    except StopIteration as end:
        result: T = end.value
        return result
    except UnicodeEncodeError as error:
        raise _unencodable(error) from None


async def _passed(step: _Step) -> object:
    if isinstance(step, float):
        await asyncio.sleep(step)
        return None
    if isinstance(step, Awaitable):
        return await step
    return await result_of(step)


async def result_of(pending: _core.Pending[T]) -> T:
    """Await one result of the core."""
    if not pending.done():
        try:
            await _LoopCompletions.of_running_loop().wait(pending)
        except BaseException:
            # What it brings, or has brought by now, is for the next caller.
            pending.abandon()
            raise
    return pending.result()


#: Seconds: about a round trip to a Redis nearby. To sleep and be woken takes an event loop as long again.
_SHORT = 0.0002


class _LoopCompletions:
    """Wakes the coroutines of one event loop: one descriptor for all results it waits for.

    A single result that is likely to come soon, since the last one did, is waited for awake: the loop goes on turning.
    """

    _by_loop: ClassVar[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _LoopCompletions]] = (
        weakref.WeakKeyDictionary()
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._completions = _core.Completions()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._tokens = itertools.count()
        self._quick = False
        self._awake = False
        loop.add_reader(self._completions.fileno(), self._wake)

    @classmethod
    def of_running_loop(cls) -> _LoopCompletions:
        loop = asyncio.get_running_loop()
        if loop not in cls._by_loop:
            cls._by_loop[loop] = cls(loop)
        return cls._by_loop[loop]

    async def wait(self, pending: _core.Pending[Any]) -> None:
        began = time.perf_counter()
        if self._quick and not self._awake and not self._waiting:
            self._awake = True
            try:
                while not pending.done() and time.perf_counter() - began < _SHORT:  # noqa: ASYNC110 - never to sleep is the point
                    await asyncio.sleep(0)
            finally:
                self._awake = False
        if not pending.done():
            await self._finished(pending)
        self._quick = time.perf_counter() - began < _SHORT

    def _finished(self, pending: _core.Pending[Any]) -> asyncio.Future[None]:
        token = next(self._tokens)
        self._waiting[token] = future = asyncio.get_running_loop().create_future()
        pending.notify(self._completions, token)
        return future

    def _wake(self) -> None:
        for token in self._completions.drain():
            future = self._waiting.pop(token)
            if not future.done():
                future.set_result(None)
