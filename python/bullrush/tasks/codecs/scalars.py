"""The types of single values: those that JSON has, and those with a text form. The forms are those of pydantic."""

from __future__ import annotations

import base64
import binascii
import inspect
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, Final, TypeAlias
from uuid import UUID

from bullrush.tasks.codecs.misfit import MisfitError, expected

_Convert: TypeAlias = Callable[[Any, str], Any]


def _checked(*kinds: type) -> tuple[frozenset[type], _Convert, _Convert]:
    """Return the shape of a JSON type: its values are right as they are."""
    wanted = kinds[0].__name__ if kinds[0] is not type(None) else "None"

    def check(value: Any, path: str) -> Any:
        # A bool is an int in Python and not in JSON.
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise expected(path, wanted, value)
        return value

    return frozenset(kinds), check, check


_ANY: Final = (frozenset[type](), None, None)

#: A type -> classes that are right as they are, and the checks of other values in both directions.
JSON_TYPES: Final[dict[Any, tuple[frozenset[type], _Convert | None, _Convert | None]]] = {
    Any: _ANY,
    object: _ANY,
    inspect.Parameter.empty: _ANY,
    None: _checked(type(None)),
    type(None): _checked(type(None)),
    bool: _checked(bool),
    int: _checked(int),
    float: _checked(float, int),
    str: _checked(str),
    list: _checked(list),
    dict: _checked(dict),
}


def _text(kind: type, encode: Callable[[Any], str], decode: Callable[[str], Any]) -> tuple[_Convert, _Convert]:
    """Return the shape of a type that is a text in JSON."""

    def to_text(value: Any, path: str) -> str:
        if not isinstance(value, kind) or (kind is date and isinstance(value, datetime)):
            raise expected(path, kind.__name__, value)
        return encode(value)

    def from_text(value: Any, path: str) -> Any:
        if not isinstance(value, str):
            raise expected(path, f"{kind.__name__} as a text", value)
        try:
            return decode(value)
        except (ValueError, InvalidOperation, binascii.Error):
            raise MisfitError(f"{path}: the text is no {kind.__name__}") from None

    return to_text, from_text


def _iso(value: datetime | time) -> str:
    text = value.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def _without_z(text: str) -> str:
    # Python 3.10 does not read Z.
    return text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text


#: A type -> its conversions to JSON and back.
SCALARS: Final[dict[Any, tuple[_Convert, _Convert]]] = {
    datetime: _text(datetime, _iso, lambda text: datetime.fromisoformat(_without_z(text))),
    date: _text(date, date.isoformat, date.fromisoformat),
    time: _text(time, _iso, lambda text: time.fromisoformat(_without_z(text))),
    UUID: _text(UUID, str, UUID),
    Decimal: _text(Decimal, str, Decimal),
    bytes: _text(bytes, lambda value: base64.urlsafe_b64encode(value).decode(), lambda text: _from_base64(text)),
}


def _from_base64(text: str) -> bytes:
    # Node writes the other alphabet.
    return base64.b64decode(text.translate({ord("-"): "+", ord("_"): "/"}), validate=True)


def enum_shape(kind: type[Enum]) -> tuple[_Convert, _Convert]:
    """Return the conversions of an enum: its members are stored as their values."""

    def encode(value: Any, path: str) -> Any:
        if not isinstance(value, kind):
            raise expected(path, kind.__name__, value)
        return value.value

    def decode(value: Any, path: str) -> Any:
        try:
            return kind(value)
        except ValueError:
            raise MisfitError(f"{path}: {' or '.join(repr(one.value) for one in kind)} expected") from None

    return encode, decode
