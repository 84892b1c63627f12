"""JSON in and out. Encoding is orjson's; what orjson would let pass or name badly is found here, with its path."""

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

# datetimes are refused: Node would read a string back, and which string is the caller's decision.
_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATETIME
_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_DEEPEST: Final = 254
_LARGEST: Final = 2**64 - 1
_SMALLEST: Final = -(2**63)


def encode(value: JSON, root: str) -> bytes:
    """Return ``value`` as JSON.

    Args:
        value: what to encode.
        root: what errors call the value: ``data``, ``returnvalue``...

    Raises:
        DataError: a part of the value is not JSON; the message names its path.
    """
    try:
        encoded = orjson.dumps(value, None, _OPTIONS)
    except (TypeError, ValueError) as error:
        raise DataError(_problem(value, root, 0) or f"{root}: {error}") from None
    # orjson writes NaN and Infinity as null, so only a text with a null in it can hide one.
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
    """Return JSON that is not quite UTF-8: Node replaces bytes that are not, and keeps lone surrogates, which it writes as escapes."""
    text = raw if isinstance(raw, str) else raw.decode(errors="replace")
    if _ESCAPED_SURROGATE.search(text):
        return json.loads(text, parse_constant=_no_json)
    return orjson.loads(text)


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def malformed(field: str, job_id: str, error: ValueError) -> MalformedJobError:
    """Return the error for a field that is not JSON. It never quotes the field: payloads stay out of logs."""
    return MalformedJobError(f"Malformed job {job_id}: its {field} is not valid JSON ({error})")


def _problem(value: object, path: str, depth: int) -> str | None:
    """Return what is wrong first inside ``value``, or None."""
    if depth > _DEEPEST:
        return f"{path[:60]}...: nested deeper than {_DEEPEST} levels, or a part of itself"
    match value:
        case None | bool():
            return None
        case str():
            return None if _is_unicode(value) else f"{path}: str with a lone surrogate is not valid UTF-8"
        case float():
            return None if math.isfinite(value) else f"{path}: {value} is not JSON; use None or a string"
        case int():
            return None if _SMALLEST <= value <= _LARGEST else f"{path}: int does not fit in 64 bits; use a string"
        case dict():
            for key, member in value.items():
                if not isinstance(key, str):
                    return f"{path}: key {key!r} is {_name(key)}, JSON has only str keys"
                if problem := _problem(member, path + _step(key), depth + 1):
                    return problem
            return None
        case list() | tuple():
            for index, member in enumerate(value):
                if problem := _problem(member, f"{path}[{index}]", depth + 1):
                    return problem
    try:
        orjson.dumps(value, None, _OPTIONS)
    except (TypeError, ValueError):
        advice = "; use .isoformat()" if hasattr(value, "isoformat") else ""
        return f"{path}: {_name(value)} is not JSON serializable{advice}"
    return None


def _name(value: object) -> str:
    return type(value).__qualname__


def _step(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{key!r}]"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
