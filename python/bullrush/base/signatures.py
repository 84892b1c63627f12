"""Signatures of calls whose options are a TypedDict: each option by its name, for `help` and editors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from bullrush.values.options import plain_type

_UNPACKED: Final = re.compile(r"Unpack\[(\w+)\]")


class _NotGiven:
    """The default of an option without a value, as it is shown."""

    def __repr__(self) -> str:
        return "..."


_NOT_GIVEN: Final = _NotGiven()

F = TypeVar("F", bound=Callable[..., Any])


def shows_options(call: F) -> F:
    """Let a call with ``**options: Unpack[...]`` show them by name.

    `inspect.signature`, `help` and `typing.get_type_hints` then list them; an option without a value has the default
    ``...``. Calls without such options stay as they are.
    """
    function: Any = inspect.unwrap(call)
    if not function.__code__.co_flags & inspect.CO_VARKEYWORDS:
        return call
    *given, last = inspect.signature(function).parameters.values()
    unpacked = _UNPACKED.fullmatch(str(last.annotation))
    if unpacked is None:
        return call
    options = function.__globals__[unpacked[1]].__annotations__
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_NOT_GIVEN, annotation=plain_type(hint))
        for name, hint in options.items()
    ]
    hints = {name: hint for name, hint in function.__annotations__.items() if name != last.name}
    shown: Any = call
    # A new dict: the one of the wrapped function would be changed, too.
    shown.__annotations__ = {**hints, **options}
    shown.__signature__ = inspect.Signature([*given, *added], return_annotation=hints.get("return", "None"))
    return call
