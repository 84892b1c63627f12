"""Encoding and decoding JSON with orjson. What orjson accepts wrongly, or reports without a path, is found here."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeAlias

import orjson

from bullrush.errors import DataError, MalformedJobError

#: Any JSON value: None, bool, int, float, str, list, or dict with str keys.
JSON: TypeAlias = Any

NULL: Final = b"null"

#: What is stored for a job without data.
NO_DATA: Final[Mapping[str, JSON]] = {}

# datetimes are refused: Node would read them as strings, and the caller decides in which format.
_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATETIME
_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_MAX_DEPTH: Final = 254
_MAX_INT: Final = 2**64 - 1
_MIN_INT: Final = -(2**63)


def encode(value: JSON, root: str) -> bytes:
    """Return ``value`` as JSON.

    Args:
        value: the value.
        root: the name of the value in error messages: ``data``, ``returnvalue``...

    Raises:
        DataError: a part of the value is not JSON; the message names its path.
    """
    try:
        encoded = orjson.dumps(value, None, _OPTIONS)
    except (TypeError, ValueError) as error:
        raise DataError(_problem(value, root, 0) or f"{root}: {error}") from None
    # orjson writes NaN and Infinity as null, so only JSON with a null in it needs a check.
    if NULL in encoded and value is not None and (problem := _problem(value, root, 0)):
        raise DataError(problem)
    return encoded


def decode(raw: bytes | str, field: str, job_id: str) -> JSON:
    """Return the value of a job's JSON field.

    Raises:
        MalformedJobError: the field is not JSON.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        try:
            return _as_node_reads_it(raw)
        except (ValueError, RecursionError):
            raise malformed(field, job_id, error) from None


def _as_node_reads_it(raw: bytes | str) -> JSON:
    """Decode JSON that orjson refuses and Node reads.

    Node replaces bytes that are no UTF-8, and accepts escaped lone surrogates.
    """
    text = raw if isinstance(raw, str) else raw.decode(errors="replace")
    if _ESCAPED_SURROGATE.search(text):
        return json.loads(text, parse_constant=_no_json)
    return orjson.loads(text)


def read_number(stored: bytes | str | None) -> int | None:
    """Return a whole number as any client may have written it, None if it is not a number."""
    try:
        return None if stored is None else int(float(stored))
    except (ValueError, OverflowError):
        return None


def encode_as_node(value: JSON, root: str) -> bytes:
    """Return JSON as `encode` does, and write lone surrogates as escapes, as Node does."""
    try:
        return encode(value, root)
    except DataError:
        return json.dumps(value, allow_nan=False).encode()


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def malformed(field: str, job_id: str, error: ValueError) -> MalformedJobError:
    """Return the error for a field that is not JSON.

    It does not quote the field, since payloads must not get into logs.
    """
    return MalformedJobError(f"Malformed job {job_id}: its {field} is not valid JSON ({error})")


def _problem(value: object, path: str, depth: int) -> str | None:
    """Return a description of the first part of ``value`` that is not JSON, None if there is none."""
    if depth > _MAX_DEPTH:
        return f"{path[:60]}...: nested deeper than {_MAX_DEPTH} levels, or contains itself"
    match value:
        case None | bool():
            return None
        case str():
            return None if _is_utf8(value) else f"{path}: str with a lone surrogate is not valid UTF-8"
        case float():
            return None if math.isfinite(value) else f"{path}: {value} is not JSON; use None or a string"
        case int():
            return None if _MIN_INT <= value <= _MAX_INT else f"{path}: int does not fit in 64 bits; use a string"
        case dict():
            for key, member in value.items():
                if not isinstance(key, str):
                    plain = f"key {key!r}" if isinstance(key, int | float | None) else "a key"
                    return f"{path}: {plain} is {_type_name(key)}, JSON has only str keys"
                if problem := _problem(member, path + _path_step(key), depth + 1):
                    return problem
            return None
        case list() | tuple():
            for index, member in enumerate(value):
                if problem := _problem(member, f"{path}[{index}]", depth + 1):
                    return problem
    try:
        orjson.dumps(value, None, _OPTIONS)
    except (TypeError, ValueError):
        return f"{path}: {_type_name(value)} is not JSON serializable{_advice(value)}"
    return None


#: What to write instead, by the name of the type.
_INSTEAD: Final = {
    "Decimal": "str(...)",
    "bytes": "base64.b64encode(...).decode()",
    "frozenset": "sorted(...)",
    "set": "sorted(...)",
    "timedelta": ".total_seconds()",
}
_TYPED_TASKS: Final = "or a typed task (bullrush.tasks), which does it for you"


def _advice(value: object) -> str:
    # Imported here, since only errors need them.
    from collections.abc import AsyncIterator, Coroutine, Iterator
    from decimal import Decimal
    from pathlib import PurePath

    if hasattr(value, "model_dump"):  # a model of pydantic
        return f"; use .model_dump(mode='json'), {_TYPED_TASKS}"
    if hasattr(value, "isoformat"):
        return "; use .isoformat()"
    if instead := _INSTEAD.get(_type_name(value)):
        return f"; use {instead}, {_TYPED_TASKS}" if isinstance(value, Decimal | bytes) else f"; use {instead}"
    if isinstance(value, PurePath):
        return "; use str(...)"
    if isinstance(value, Coroutine):
        return "; await it, and make the function that returns it an async def"
    if isinstance(value, Iterator | AsyncIterator):
        return "; make it a list"
    # Scalars and arrays of numpy.
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return "; use .item()"
    return "; use .tolist()" if hasattr(value, "tolist") else ""


def _type_name(value: object) -> str:
    return type(value).__qualname__


def _path_step(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{key!r}]"


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
