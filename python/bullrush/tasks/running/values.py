"""Making the values of dependencies, and ending them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Protocol, TypeAlias

from bullrush.errors import InvalidOptionError
from bullrush.tasks.depends import OVERRIDES, Dependency

Made: TypeAlias = dict[Dependency, Any]


class Shared(Protocol):
    """The values of scope ``worker`` for handlers on threads."""

    def get(self, dependency: Dependency) -> Any:
        """Return the value; make it at first use."""


class SharedAsync(Protocol):
    """The values of scope ``worker`` for handlers on an event loop."""

    async def get(self, dependency: Dependency) -> Any:
        """Return the value; make it at first use."""


def fill(wanted: Mapping[str, Dependency], made: Made, stack: ExitStack, shared: Shared) -> dict[str, Any]:
    """Return the values of dependencies by name, on a thread.

    Args:
        wanted: the dependencies.
        made: the values of this scope that exist; one provider is called once.
        stack: ends the new values.
        shared: the values of the worker.
    """
    values = {}
    for name, dependency in wanted.items():
        if dependency.scope == "worker":
            values[name] = shared.get(dependency)
        else:
            values[name] = made[dependency] if dependency in made else make(dependency, made, stack, shared)
    return values


def make(dependency: Dependency, made: Made, stack: ExitStack, shared: Shared) -> Any:
    """Call a provider on a thread, enter what it returns if that is a context manager, and note the value."""
    if (replacement := OVERRIDES.get(dependency.provider)) is not None:
        value = replacement()
    else:
        value = dependency.provider(**fill(dependency.needs, made, stack, shared))
    if hasattr(type(value), "__enter__"):
        value = stack.enter_context(value)
    elif hasattr(type(value), "__aenter__") or inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise InvalidOptionError(f"{dependency.provider!r} needs an event loop: a def task cannot use it")
    made[dependency] = value
    return value


async def afill(
    wanted: Mapping[str, Dependency], made: Made, stack: AsyncExitStack, shared: SharedAsync
) -> dict[str, Any]:
    """Return the values of dependencies by name, on an event loop; see `fill`."""
    values = {}
    for name, dependency in wanted.items():
        if dependency.scope == "worker":
            values[name] = await shared.get(dependency)
        else:
            values[name] = made[dependency] if dependency in made else await amake(dependency, made, stack, shared)
    return values


async def amake(dependency: Dependency, made: Made, stack: AsyncExitStack, shared: SharedAsync) -> Any:
    """Call a provider on an event loop; see `make`. A coroutine is awaited."""
    if (replacement := OVERRIDES.get(dependency.provider)) is not None:
        value = replacement()
    else:
        value = dependency.provider(**await afill(dependency.needs, made, stack, shared))
    # Pools of asyncpg are awaitable and context managers: they are entered, so that they are closed.
    if hasattr(type(value), "__aenter__"):
        value = await stack.enter_async_context(value)
    elif hasattr(type(value), "__enter__"):
        value = stack.enter_context(value)
    elif inspect.isawaitable(value):
        value = await value
    made[dependency] = value
    return value
