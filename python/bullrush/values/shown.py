"""A wrong value in the text of an error."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from bullrush.masking import masked_in

#: The longest text and the largest number that are shown.
_LONGEST: Final = 60
_LARGEST: Final = 2**64


def shown(value: object) -> str:
    """Return a value as errors show it.

    A dict, a list or an object may be the data of a job in a wrong place: of these only the type.
    """
    if value is None or isinstance(value, bool | float | date | timedelta):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if abs(value) <= _LARGEST else "an int of more than 64 bits"
    if isinstance(value, str):
        return masked_in(repr(value)) if len(value) <= _LONGEST else f"a text of {len(value)} characters"
    return type(value).__qualname__
