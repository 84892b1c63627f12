"""Options of an object: one line of a TypedDict has the name, the type, the check, the default and the meaning of each.

``scan_depth: Annotated[int, Option(checks.at_least(1), default=100, doc="how many of the next jobs a scan looks at")]``
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final, ForwardRef, NamedTuple, TypeVar, get_type_hints

from bullrush.values.checks import Check
from bullrush.values.naming import check_known

T = TypeVar("T", bound=type)


class Settings(SimpleNamespace):
    """Checked options by their names as attributes, in the units of the core."""

    def __repr__(self) -> str:
        # Without their values: the URL may have a password.
        return f"<options {', '.join(vars(self))}>"


class Option(NamedTuple):
    """What is known of an option beside its name and its type.

    Attributes:
        check: takes the name and the value, and returns the value as the core has it.
        doc: what it does, for programs that use it.
        default: the value, checked, if none is given.
        none: whether None can be given though the default is another value.
        shown: the default in words, where the value itself says too little.
        unit: the unit of a number; that of a `Duration` is known.
        bullmq: the name in BullMQ, "" if that is the same in camelCase; None if BullMQ has no such option.
    """

    check: Check
    doc: str
    default: Any = None
    none: bool = False
    shown: str = ""
    unit: str = ""
    bullmq: str | None = ""


#: The options of each class of options.
_DECLARED: Final[dict[type, dict[str, Option]]] = {}


def declare_options(options: T) -> T:
    """Read the lines of a TypedDict of options, and add what they mean to its docstring; a decorator.

    A line has a name, a type and an `Option`; all options can be left out, so the class is ``total=False``.

    Raises:
        TypeError: a line has no `Option`.
    """
    hints = get_type_hints(options, include_extras=True)
    _DECLARED[options] = declared = {name: _option(options, name, hints[name]) for name in options.__annotations__}
    meanings = (textwrap.fill(f"{name}: {option.doc}", 112) for name, option in declared.items())
    attributes = textwrap.indent("\n".join(text.replace("\n", "\n    ") for text in meanings), "    ")
    options.__doc__ = f"{inspect.cleandoc(options.__doc__ or '')}\n\nAttributes:\n{attributes}\n"
    return options


def _option(options: type, name: str, hint: Any) -> Option:
    found = next((item for item in getattr(hint, "__metadata__", ()) if isinstance(item, Option)), None)
    if found is None:
        raise TypeError(
            f"{options.__name__}.{name} says nothing of its check: write"
            f' `{name}: Annotated[int, Option(checks.whole, default=1, doc="what it does")]`'
        )
    return found


def declared(options: type) -> Mapping[str, Option]:
    """Return what is known of each option of a class of options."""
    return _DECLARED[options]


def plain_type(hint: ForwardRef) -> str:
    """Return the type of a member of a TypedDict as it is written, without what `Option` says of it."""
    return hint.__forward_arg__.removeprefix("Annotated[").partition(", Option(")[0]


def checked_options(options: type, given: Mapping[str, object], owner: str) -> Settings:
    """Check options and fill in defaults.

    Args:
        options: the class of options.
        given: what a program has given.
        owner: whose options these are, for errors.

    Raises:
        UnknownOptionError: an option does not exist.
        InvalidOptionError: an option has a value that cannot be used.
    """
    if options not in _DECLARED:
        raise TypeError(f"{options.__name__} is no class of options: put @declare_options above it")
    known = _DECLARED[options]
    check_known(given, known, owner)
    settings = Settings(**{name: option.default for name, option in known.items()})
    for name, value in given.items():
        option = known[name]
        is_none = value is None and (option.none or option.default is None)
        setattr(settings, name, None if is_none else option.check(name, value))
    return settings
