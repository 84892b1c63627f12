"""Dependencies: what a task gets from its worker and not from its job."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar, overload

from bullrush.errors import InvalidOptionError
from bullrush.extending import check_choice

T = TypeVar("T")
Scope = Literal["job", "worker"]

#: Providers that a test has replaced; see `bullrush.testing.override`.
OVERRIDES: Final[dict[Callable[..., Any], Callable[[], Any]]] = {}


@dataclass(frozen=True)
class Dependency:
    """One dependency of a task or of a provider.

    Attributes:
        provider: makes the value.
        scope: how long the value is used.
        needs: the dependencies of the provider, by the names of its parameters.
        is_async: the value can only be made on an event loop.
    """

    provider: Callable[..., Any]
    scope: Scope
    needs: dict[str, Dependency] = field(default_factory=dict, compare=False, repr=False)
    is_async: bool = field(default=False, compare=False)


@overload
def Depends(provider: Callable[..., AbstractAsyncContextManager[T]], *, scope: Scope = "job") -> T: ...
@overload
def Depends(provider: Callable[..., AbstractContextManager[T]], *, scope: Scope = "job") -> T: ...
@overload
def Depends(provider: Callable[..., Awaitable[T]], *, scope: Scope = "job") -> T: ...
@overload
def Depends(provider: Callable[..., T], *, scope: Scope = "job") -> T: ...
def Depends(provider: Callable[..., Any], *, scope: Scope = "job") -> Any:  # noqa: N802 - the name that FastAPI gave it
    """Return the default value of a keyword-only parameter that the worker fills and the job does not have.

    ``pool: Pool = Depends(open_pool, scope="worker")``. A caller never passes it: with one, `Task.enqueue` raises a
    TypeError. A call of the function itself must pass it.

    Args:
        provider: makes the value: a function, a coroutine function, or one that returns a context manager, which is
            entered, and left when the scope ends. Its own parameters may be dependencies, too. A ``def`` task takes
            only providers that need no event loop.
        scope: ``job`` makes a value for each run of a job; ``worker`` makes one at first use and keeps it until the
            worker ends.

    Raises:
        InvalidOptionError: the provider is not a function, needs arguments, or lives longer than what it depends on.
    """
    if not callable(provider):
        raise InvalidOptionError(f"Depends() takes a function that makes the value, not {provider!r}")
    check_choice("scope", scope, ("job", "worker"))
    if inspect.isgeneratorfunction(provider) or inspect.isasyncgenfunction(provider):
        decorator = "contextmanager" if inspect.isgeneratorfunction(provider) else "asynccontextmanager"
        raise InvalidOptionError(
            f"{provider!r} is a generator: put @contextlib.{decorator} above it, so that what follows its yield runs "
            "at the end"
        )
    needs = {}
    for parameter in _parameters(provider):
        if isinstance(parameter.default, Dependency):
            needs[parameter.name] = parameter.default
        elif parameter.default is parameter.empty and parameter.kind not in {
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        }:
            raise InvalidOptionError(f"{provider!r} needs the argument {parameter.name!r}: give it a Depends()")
    if scope == "worker" and (shorter := [name for name, one in needs.items() if one.scope == "job"]):
        raise InvalidOptionError(f"{provider!r} lives as long as the worker; {shorter[0]!r} of it ends with the job")
    is_async = _is_async(provider) or any(need.is_async for need in needs.values())
    return Dependency(provider, scope, needs, is_async)


def _parameters(provider: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(provider).parameters.values())
    except (TypeError, ValueError):  # some classes in C have no signature
        return []


def _is_async(provider: Callable[..., Any]) -> bool:
    """Tell whether a function makes a coroutine or an asynchronous context manager, as far as it can be seen."""
    inner = inspect.unwrap(provider)
    return (
        inspect.iscoroutinefunction(provider)
        or inspect.isasyncgenfunction(inner)
        or (isinstance(provider, type) and hasattr(provider, "__aenter__") and not hasattr(provider, "__enter__"))
    )
