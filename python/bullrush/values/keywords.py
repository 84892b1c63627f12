"""Calls with wrong option names get the same advice as the options in dicts."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from bullrush.values.naming import check_known

P = ParamSpec("P")
R = TypeVar("R")


def known_options(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with an `UnknownOptionError`, which has the right name, instead of Python's `TypeError`."""
    known = frozenset(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        check_known(kwargs, known, f"{function.__name__}()")
        return function(*args, **kwargs)

    return checked
