"""Which of two servers has refused a call: errors of Redis do not say it, so a move between servers adds it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from bullrush.errors import RedisServerError
from bullrush.extending import CoreQueue, Handle, Pending
from bullrush.url import address

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def naming_server(url: str) -> Iterator[None]:
    """Let errors of Redis say that they come from this server, unless they name another one."""
    try:
        yield
    except RedisServerError as error:
        if error.server is not None:
            raise
        raise RedisServerError(error.code, error.args[1], address(url)) from error


def names_server(
    call: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Let the errors of an operation name the server of its object, where they do not come from another one."""

    @functools.wraps(call)
    async def named(self: Any, *args: P.args, **kwargs: P.kwargs) -> T:
        with naming_server(self._url):
            return await call(self, *args, **kwargs)

    return cast("Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]", named)


def core_of(queue: Handle) -> CoreQueue:
    """Return the core of a queue; errors of Redis name its server."""
    return cast("CoreQueue", _NamedCore(queue.core, queue._url))


class _NamedCore:
    """Has all methods of a core. What they return is awaited as what the core's own return."""

    def __init__(self, core: CoreQueue, url: str) -> None:
        self._core, self._url = core, url

    def __getattr__(self, name: str) -> Callable[..., _NamedPending]:
        call = getattr(self._core, name)
        return lambda *args, **kwargs: _NamedPending(call(*args, **kwargs), self._url)


class _NamedPending:
    """Has all methods of a `Pending`."""

    def __init__(self, pending: Pending[Any], url: str) -> None:
        self._pending, self._url = pending, url

    def wait(self, timeout_ms: int | None = None) -> Any:
        with naming_server(self._url):
            return self._pending.wait(timeout_ms)

    def result(self) -> Any:
        with naming_server(self._url):
            return self._pending.result()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pending, name)
