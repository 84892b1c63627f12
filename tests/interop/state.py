"""The whole key space of a queue as plain values, and readable differences between two of them."""

import json
import math
from collections.abc import Iterator
from typing import Any

import redis

State = dict[str, Any]

#: A TTL is compared in these steps, so that the moment of reading does not matter. Tests use multiples of it.
TTL_STEP_MS = 10_000

#: Hash fields that BullMQ's own scripts encode, in an order and precision of their own: compared by parsed value.
ENCODED_FIELDS = ("opts", "parent")


def read_state(client: "redis.Redis[str]", stem: str) -> State:
    """Return every key that starts with ``stem``, as ``{key after the stem: {"type", "value", "ttl"}}``.

    Stream entries lose their ids, sets are sorted, zsets become ``{member: score}``.
    """
    keys = sorted(client.scan_iter(match=f"{stem}*", count=1000))
    with client.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.type(key).pttl(key)
        described = pipe.execute()
    types = dict(zip(keys, described[::2], strict=True))
    with client.pipeline(transaction=False) as pipe:
        for key in keys:
            _queue_read(pipe, types[key], key)
        values = pipe.execute()
    return {
        key.removeprefix(stem).removeprefix(":"): {
            "type": types[key],
            "value": _plain(types[key], value),
            "ttl": coarse_ttl(ttl),
        }
        for key, value, ttl in zip(keys, values, described[1::2], strict=True)
    }


def _queue_read(pipe: Any, kind: str, key: str) -> None:
    match kind:
        case "string":
            pipe.get(key)
        case "list":
            pipe.lrange(key, 0, -1)
        case "set":
            pipe.smembers(key)
        case "zset":
            pipe.zrange(key, 0, -1, withscores=True)
        case "hash":
            pipe.hgetall(key)
        case "stream":
            pipe.execute_command("XRANGE", key, "-", "+")
        case _:
            raise AssertionError(f"{key} has the type {kind}")


def _plain(kind: str, value: Any) -> Any:
    if kind == "set":
        return sorted(value)
    if kind == "zset":
        return dict(value)
    if kind == "hash":
        return {field: _decoded(field, text) for field, text in value.items()}
    if kind == "stream":
        return [_pairs(fields) for _, fields in value]
    return value


def _pairs(fields: Any) -> list[tuple[str, str]]:
    if isinstance(fields, dict):
        return list(fields.items())
    return list(zip(fields[::2], fields[1::2], strict=True))


def _decoded(field: str, text: str) -> Any:
    return as_stored_by_lua(json.loads(text)) if field in ENCODED_FIELDS else text


def as_stored_by_lua(value: Any) -> Any:
    """Apply what BullMQ loses when its scripts encode a value: nulls, empty arrays and digits after the 14th."""
    if isinstance(value, dict):
        return {key: as_stored_by_lua(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [as_stored_by_lua(item) for item in value] or {}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(f"{value:.14g}")
    return value


def coarse_ttl(ttl: int) -> int:
    """Round a remaining time up to the step in which TTLs are compared."""
    return ttl if ttl < 0 else math.ceil(ttl / TTL_STEP_MS) * TTL_STEP_MS


def by_job(state: State) -> State:
    """Regroup event streams by job: a batch may interleave independent jobs in another order than single calls do."""
    regrouped = {}
    for key, entry in state.items():
        if entry["type"] == "stream":
            groups: dict[str, list[Any]] = {}
            for fields in entry["value"]:
                groups.setdefault(dict(fields).get("jobId", ""), []).append(fields)
            entry = {**entry, "value": groups}
        regrouped[key] = entry
    return regrouped


def unordered(state: State) -> State:
    """Sort the lists: jobs that run side by side come back in an order of their own."""
    return {
        key: {**entry, "value": sorted(entry["value"])} if entry["type"] == "list" else entry
        for key, entry in state.items()
    }


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Yield one line per difference, each with the path to it."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(expected.keys() | actual.keys()):
            here = f"{path} › {key}" if path else str(key)
            if key not in actual:
                yield f"{here}: missing, expected {expected[key]!r}"
            elif key not in expected:
                yield f"{here}: unexpected {actual[key]!r}"
            else:
                yield from differences(expected[key], actual[key], here)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for position, (left, right) in enumerate(zip(expected, actual, strict=True)):
            yield from differences(left, right, f"{path}[{position}]")
    elif expected != actual:
        yield f"{path}: expected {expected!r}, got {actual!r}"
