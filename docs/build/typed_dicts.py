"""The members of a TypedDict with their types as written and their descriptions, for the pages that are generated."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

import griffe

from bullrush.values.options import plain_type


class Member(NamedTuple):
    """One member of a TypedDict.

    Attributes:
        name: its name.
        type: its type as it is written in the source.
        description: its line of the section "Attributes", as one paragraph.
        required: whether it must be given.
    """

    name: str
    type: str
    description: str
    required: bool


def members(typed_dict: Any, beside: Any = None) -> list[Member]:
    """Return the members of a TypedDict in the order of the source.

    Args:
        typed_dict: the class.
        beside: the class that it derives from, whose members are left out.

    Raises:
        KeyError: one of them has no description.
    """
    inherited = getattr(beside, "__annotations__", {})
    described = descriptions(typed_dict)
    return [
        Member(name, *_type(plain_type(hint), name in typed_dict.__required_keys__, described[name]))
        for name, hint in typed_dict.__annotations__.items()
        if name not in inherited
    ]


def _type(written: str, required: bool, description: str) -> tuple[str, str, bool]:
    marked = written.removeprefix("Required[")
    return marked.removesuffix("]") if marked != written else written, description, required or marked != written


def descriptions(thing: Any) -> dict[str, str]:
    """Return what the docstring of a class or function says about each attribute or argument."""
    sections = griffe.Docstring(inspect.cleandoc(thing.__doc__)).parse("google", warnings=False)
    tables = [section.value for section in sections if section.kind.value in {"attributes", "parameters"}]
    return {row.name.lstrip("*"): " ".join(row.description.split()) for table in tables for row in table}
