"""The whole key space of a queue as plain values, and readable differences between two of them."""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import orjson
import redis

State = dict[str, Any]

#: A TTL is compared in these steps, so that the time of reading does not matter. Tests use multiples of it.
TTL_STEP_MS = 10_000

#: Hash fields that BullMQ's scripts encode with another order and precision: the parsed values are compared.
ENCODED_FIELDS = ("opts", "parent")


#: Every key that matches a pattern, in one answer: ``[key, type, ttl, value]`` each, the value as JSON of its own.
_READ = """
local found = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local kind, value = redis.call('TYPE', key).ok, nil
  if kind == 'string' then value = redis.call('GET', key)
  elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1)
  elseif kind == 'set' then value = redis.call('SMEMBERS', key)
  elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  elseif kind == 'hash' then value = redis.call('HGETALL', key)
  elseif kind == 'stream' then
    value = {}
    for position, entry in ipairs(redis.call('XRANGE', key, '-', '+')) do value[position] = entry[2] end
  end
  found[#found + 1] = {key, kind, redis.call('PTTL', key), cjson.encode(value)}
end
return cjson.encode(found)
"""
_REMOVE = """
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('UNLINK', key) end
"""


def read_state(client: "redis.Redis[str]", queue: str) -> State:
    """Return every key of the queues whose names start with ``queue``, as ``{key: {"type", "value", "ttl"}}``.

    Keys of ``queue`` itself are returned without their prefix; those of ``queue-b`` begin with ``-b:``, under another
    prefix with that. Stream entries lose their ids, sets are sorted, zsets become ``{member: score}``.
    """
    return _coarse(_read_exactly(client, queue))


def read_states(expected: "redis.Redis[str]", actual: "redis.Redis[str]", queue: str) -> tuple[State, State]:
    """Return what `read_state` returns for two servers that did the same one after the other.

    A remaining time that differs by less than half a step is the same: it may be about to reach the next step.
    """
    before, after = _read_exactly(expected, queue), _read_exactly(actual, queue)
    for key, entry in after.items():
        ttl = before[key]["ttl"] if key in before else -1
        if min(ttl, entry["ttl"]) > 0 and abs(ttl - entry["ttl"]) < TTL_STEP_MS / 2:
            entry["ttl"] = ttl
    return _coarse(before), _coarse(after)


def _read_exactly(client: "redis.Redis[str]", queue: str) -> State:
    found = orjson.loads(client.eval(_READ, 0, f"*:{queue}*"))
    stem = f"bull:{queue}"
    return {
        key.removeprefix(stem).removeprefix(":"): {"type": kind, "value": _plain(kind, text), "ttl": ttl}
        for key, kind, ttl, text in found
    }


def _coarse(state: State) -> State:
    return {key: {**entry, "ttl": coarse_ttl(entry["ttl"])} for key, entry in state.items()}


def remove_state(client: "redis.Redis[str]", queue: str) -> None:
    """Remove all that `read_state` reads."""
    client.eval(_REMOVE, 0, f"*:{queue}*")


@lru_cache(maxsize=10_000)
def _plain(kind: str, text: str) -> Any:
    """Return a value that nobody may change: most keys are as before the last step, or as those of the other side."""
    value = orjson.loads(text)
    match kind:
        case "string" | "list":
            return value
        case "set":
            return sorted(value)
        case "zset":
            return {member: float(score) for member, score in _pairs(value)}
        case "hash":
            return {field: _decoded(text) if field in ENCODED_FIELDS else text for field, text in _pairs(value)}
        case "stream":
            return [_pairs(fields) for fields in value]
    raise AssertionError(f"unknown type {kind}")


def _pairs(flat: list[str]) -> list[tuple[str, str]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


@lru_cache(maxsize=10_000)
def _decoded(text: str) -> Any:
    return as_stored_by_lua(orjson.loads(text))


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
        if entry["type"] == "stream" and isinstance(entry["value"], list):
            groups: dict[str, list[Any]] = {}
            for fields in entry["value"]:
                groups.setdefault(dict(fields).get("jobId", ""), []).append(fields)
            entry = {**entry, "value": groups}
        regrouped[key] = entry
    return regrouped


def unordered(state: State) -> State:
    """Sort the lists: the order of jobs that run at the same time is not determined."""
    return {
        key: {**entry, "value": sorted(entry["value"])} if entry["type"] == "list" else entry
        for key, entry in state.items()
    }


def differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    """Yield one line per difference, each with the path to it."""
    if expected == actual:
        return
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
    else:
        yield f"{path}: expected {expected!r}, got {actual!r}"
