"""Errors as Spark's users see them.

Spark shows an error of a data source as text inside an exception of its own; the class is lost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Final, ParamSpec, TypeVar

from bullrush.errors import BullrushError, InvalidOptionError

P = ParamSpec("P")
T = TypeVar("T")

#: The beginning of the line with our text.
_MARK: Final = "\nbullrush: "


class DataSourceError(BullrushError):
    """Redis, or the state of the queue, does not allow what Spark asked for."""


def with_readable_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Make errors readable inside Spark's exceptions: our sentence begins with ``bullrush:``, on a line of its own."""

    @functools.wraps(function)
    def calls(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BullrushError as error:
            raise marked(error) from None

    return calls


def rows_with_readable_errors(rows: Iterator[T]) -> Iterator[T]:
    """Yield what an iterator yields, and make its errors readable as `with_readable_errors` does."""
    try:
        yield from rows
    except BullrushError as error:
        raise marked(error) from None


def marked(error: BullrushError, note: str = "") -> BullrushError:
    """Return the error with the mark that `with_readable_errors` describes, and a note after it."""
    text = str(error)
    if not isinstance(error, (InvalidOptionError, DataSourceError)):
        text = f"{type(error).__name__}: {text}"
    kind = InvalidOptionError if isinstance(error, InvalidOptionError) else DataSourceError
    return error if text.startswith(_MARK) else kind(_MARK + text + note)
