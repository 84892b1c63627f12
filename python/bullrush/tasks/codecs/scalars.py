"""The types of single values: those that JSON has, and those with a text form. The forms are those of pydantic."""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
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
        try:
            return encode(value)
        except ValueError:
            raise MisfitError(f"{path}: the {kind.__name__} has no form in JSON") from None

    def from_text(value: Any, path: str) -> Any:
        if not isinstance(value, str):
            raise expected(path, f"{kind.__name__} as a text", value)
        try:
            return decode(value)
        except ValueError:
            raise MisfitError(f"{path}: the text is no {kind.__name__}") from None

    return to_text, from_text


# `fromisoformat` and `UUID` take many other forms, and more of them in newer Pythons.
_DATE: Final = r"(\d{4})-(\d\d)-(\d\d)"
_TIME: Final = r"(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:[Zz]|([+\-\u2212])(\d\d):?([0-5]\d))?"
_FORMS: Final = {
    kind: re.compile(form, re.ASCII)
    for kind, form in {date: _DATE, time: _TIME, datetime: f"{_DATE}[Tt _]{_TIME}"}.items()
}
_HEX: Final = "[0-9a-fA-F]"
_HYPHENATED: Final = f"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
_UUID: Final = re.compile(rf"{_HEX}{{32}}|(?:urn:uuid:)?{_HYPHENATED}|\{{{_HYPHENATED}\}}")


def _parts(kind: type, text: str) -> tuple[Any, ...]:
    """Return the parts of a text in ISO 8601."""
    if (found := _FORMS[kind].fullmatch(text)) is None:
        raise ValueError(text)
    return found.groups()


def _date(text: str) -> date:
    year, month, day = _parts(date, text)
    return date(int(year), int(month), int(day))


def _time(text: str) -> time:
    return time(*_clock(text, *_parts(time, text)))


def _datetime(text: str) -> datetime:
    year, month, day, *clock = _parts(datetime, text)
    return datetime(int(year), int(month), int(day), *_clock(text, *clock))


def _clock(text: str, *parts: Any) -> tuple[int, int, int, int, timezone | None]:
    hour, minute, second, fraction, sign, hours, minutes = parts
    zone = timezone.utc if text[-1] in "Zz" else None
    if sign:
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        zone = timezone(offset if sign == "+" else -offset)
    microsecond = int(f"{fraction}00000"[:6]) if fraction else 0
    return int(hour), int(minute), int(second or 0), microsecond, zone


def _iso(value: datetime | time) -> str:
    text = value.isoformat()
    if (offset := value.utcoffset()) is not None and offset % timedelta(minutes=1):
        raise ValueError(text)  # ISO 8601 has no seconds there
    return text[:-6] + "Z" if offset == timedelta() else text


def _uuid(text: str) -> UUID:
    if _UUID.fullmatch(text) is None:
        raise ValueError(text)
    return UUID(text)


def _from_base64(text: str) -> bytes:
    digits = text.rstrip("=")
    missing = -len(digits) % 4
    if "-" in digits or "_" in digits:
        if "+" in digits or "/" in digits:
            raise ValueError(text)
        digits = digits.replace("-", "+").replace("_", "/")  # Node writes the other alphabet
    value = base64.b64decode(f"{digits}{'=' * missing}", validate=True)
    # Of a last group that is not full, the last bits are 0.
    rest = base64.b64encode(value[len(digits) // 4 * 3 :]).decode()
    if len(text) - len(digits) > missing or not f"{digits}{'=' * missing}".endswith(rest):
        raise ValueError(text)
    return value


def _decimal_to_text(value: Any, path: str) -> str:
    if not isinstance(value, Decimal):
        raise expected(path, "Decimal", value)
    return str(_finite(value, path))


def _to_decimal(value: Any, path: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise expected(path, "Decimal as a text or a number", value)
    try:
        found = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        raise MisfitError(f"{path}: the text is no Decimal") from None
    _finite(found, path)
    # A float has no trailing zeros, and no exponent: 1.0 is Decimal("1").
    return Decimal(format(found.normalize(), "f")) if isinstance(value, float) else found


def _finite(value: Decimal, path: str) -> Decimal:
    if not value.is_finite():
        raise MisfitError(f"{path}: a finite number expected")
    return value


#: A type -> its conversions to JSON and back.
SCALARS: Final[dict[Any, tuple[_Convert, _Convert]]] = {
    datetime: _text(datetime, _iso, _datetime),
    date: _text(date, date.isoformat, _date),
    time: _text(time, _iso, _time),
    UUID: _text(UUID, str, _uuid),
    Decimal: (_decimal_to_text, _to_decimal),
    bytes: _text(bytes, lambda value: base64.urlsafe_b64encode(value).decode(), _from_base64),
}


def enum_shape(kind: type[Enum]) -> tuple[_Convert, _Convert]:
    """Return the conversions of an enum: its members are stored as their values."""

    def encode(value: Any, path: str) -> Any:
        if not isinstance(value, kind):
            raise expected(path, kind.__name__, value)
        return value.value

    def decode(value: Any, path: str) -> Any:
        try:
            member = kind(value)
        except (TypeError, ValueError):
            member = None
        # True is 1 in Python and not in JSON.
        if member is None or isinstance(value, bool) is not isinstance(member.value, bool):
            raise MisfitError(f"{path}: {' or '.join(repr(one.value) for one in kind)} expected")
        return member

    return encode, decode
