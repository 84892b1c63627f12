"""Finds out on the driver which part of a handler cannot be sent to the executors."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

from bullrush.errors import InvalidOptionError

#: How deep functions that call functions are searched.
_DEEPEST: Final = 5


def check_can_be_sent(what: str, thing: object) -> None:
    """Check that Spark can pickle a function or an object.

    Args:
        what: the first words of the message.
        thing: the function or object.

    Raises:
        InvalidOptionError: it cannot be pickled; the message names the part.
    """
    if (error := _failure(thing)) is None:
        return
    found = _unsendable(thing, _DEEPEST)
    if found is None:
        raise InvalidOptionError(f"{what} cannot be sent to the executors: {error}") from error
    name, value = found
    raise InvalidOptionError(
        f"{what} cannot be sent to the executors: it uses {name!r} ({_type_name(value)}), which cannot be pickled. "
        "Open it inside the handler."
    ) from error


def _failure(thing: object) -> Exception | None:
    from pyspark import cloudpickle

    try:
        cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]
    except Exception as error:  # pickling runs code of the objects
        return error
    return None


def _unsendable(thing: object, depth: int) -> tuple[str, object] | None:
    """Return the name and the value of the first part that cannot be pickled."""
    for name, value in _parts(thing):
        if _failure(value) is not None:
            deeper = _unsendable(value, depth - 1) if depth and _is_code(value) else None
            return deeper or (name, value)
    return None


def _is_code(value: object) -> bool:
    return isinstance(value, (types.FunctionType, types.MethodType, functools.partial))


def _parts(thing: object) -> Iterator[tuple[str, object]]:
    """Yield what a callable uses, by the names that its author knows."""
    if isinstance(thing, functools.partial):
        yield from ((f"argument {number}", value) for number, value in enumerate(thing.args, 1))
        yield from thing.keywords.items()
        yield getattr(thing.func, "__name__", "the function"), thing.func
    elif isinstance(thing, types.MethodType):
        yield from _members(thing.__self__)
        yield thing.__name__, thing.__func__
    elif isinstance(thing, types.FunctionType):
        yield from _names_of(thing)
    else:
        yield from _members(thing)
        if isinstance(call := getattr(type(thing), "__call__", None), types.FunctionType):  # noqa: B004
            yield "__call__", call


def _members(thing: object) -> Iterator[tuple[str, object]]:
    if isinstance(thing, dict):
        yield from ((str(name), value) for name, value in thing.items())
    else:
        yield from ((f"self.{name}", value) for name, value in getattr(thing, "__dict__", {}).items())


def _names_of(function: Callable[..., Any]) -> Iterator[tuple[str, object]]:
    code: types.CodeType = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in _global_names(code):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    arguments = code.co_varnames[: code.co_argcount]
    defaults = function.__defaults__ or ()
    yield from zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _type_name(value: object) -> str:
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package == "builtins" else f"{package}.{kind.__qualname__}"
