"""BR102 to BR106, BR113, BR114 and BR116: the keys of a queue."""

from __future__ import annotations

from typing import Any, Final

import orjson

from bullrush.doctor.finding import Finding, counted
from bullrush.doctor.reading import QueueUnderTest
from bullrush.extending import QUEUE_KEYS, now_ms, read_number

_TYPES: Final = {
    key.name: key.kind
    for key in QUEUE_KEYS
    if key.owner in {"bullmq", "bullrush"} and key.family is None and key.end != "with the script"
}
_DEFAULT_EVENTS: Final = 10_000
#: A listener that reconnects must find the events since then; ms.
_SHORT: Final = 10_000
#: Redis trims in steps of this size: a shorter stream may be empty when a listener looks.
_FEWEST_EVENTS: Final = 100
#: So many finished jobs are too many if they are this old (ms), or ten times as many in any case.
_MANY: Final = 100_000
_OLD: Final = 7 * 86_400_000
_SAMPLE: Final = 20
#: ms to look back, and how many failures are many if a tenth of what ended since then failed.
_LATELY: Final = 3_600_000
_MANY_FAILURES: Final = 100
_PART: Final = 10


async def types(tested: QueueUnderTest) -> tuple[list[Finding], bool]:
    """BR104: what another program, or a job with the id ``wait``, has written; and whether the queue has any key."""
    replies = await tested.server.ask_all([["TYPE", tested.key(part)] for part in _TYPES])
    wrong = [
        f"{part} is a {found.decode()}, not a {expected}"
        for (part, expected), found in zip(_TYPES.items(), replies, strict=True)
        if found not in (b"none", expected.encode())
    ]
    found = [Finding("BR104", "; ".join(wrong), tested.name)] if wrong else []
    return found, any(kind != b"none" for kind in replies)


async def waiting_lists(tested: QueueUnderTest) -> list[Finding]:
    """BR102 and BR103: BullMQ 5 moves the jobs of a paused queue to ``paused``, version 6 leaves them in ``wait``."""
    meta, wait, paused = (tested.key(part) for part in ("meta", "wait", "paused"))
    (is_set, version, compat), waiting, held = await tested.server.ask_all(
        [["HMGET", meta, "paused", "version", "ext:compat"], ["LLEN", wait], ["LLEN", paused]]
    )
    is_paused = is_set is not None
    wrote = f"; its settings were written by {version.decode(errors='replace')}" if version else ""
    wrote += f"; bullrush was told to treat it as BullMQ {compat.decode(errors='replace')}" if compat else ""
    if is_paused and waiting and held:
        detail = f"wait has {counted(waiting, 'job')}, paused {held:,}{wrote}"
        return [Finding("BR102", detail, tested.name, fleeting=True)]
    if held and not is_paused:
        return [Finding("BR103", f"paused has {counted(held, 'job')}{wrote}", tested.name, fleeting=True)]
    return []


async def old_keys(tested: QueueUnderTest) -> list[Finding]:
    """BR105: the sorted set of priorities."""
    if await tested.server.ask("EXISTS", tested.key("priority")):
        return [Finding("BR105", "the key priority", tested.name)]
    return []


async def rate_limit(tested: QueueUnderTest) -> list[Finding]:
    """BR106: a client that died between two commands, or a person, left a limit that does not end."""
    if await tested.server.ask("PTTL", tested.key("limiter")) == -1:
        return [Finding("BR106", "the key limiter has no time to live", tested.name, fleeting=True)]
    return []


async def events(tested: QueueUnderTest) -> list[Finding]:
    """BR113: how far back the stream goes."""
    listeners = len(await tested.connected(":qe"))
    if not listeners:
        return []
    key = tested.key("events")
    stored, length = await tested.server.ask_all([["HGET", tested.key("meta"), "opts.maxLenEvents"], ["XLEN", key]])
    most = read_number(stored)
    most = _DEFAULT_EVENTS if most is None else most
    if most < _FEWEST_EVENTS:
        return [Finding("BR113", f"it keeps about {most:,} entries; listeners: {listeners}", tested.name)]
    if length < most:
        return []
    (first,), (last,) = await tested.server.ask_all(
        [["XRANGE", key, "-", "+", "COUNT", 1], ["XREVRANGE", key, "+", "-", "COUNT", 1]]
    )
    span = _millis(last) - _millis(first)
    if span >= _SHORT:
        return []
    detail = f"its {length:,} entries go back {span / 1_000:.1f} s; listeners: {listeners}"
    return [Finding("BR113", detail, tested.name)]


def _millis(entry: list[Any]) -> int:
    return int(entry[0].partition(b"-")[0])


async def finished(tested: QueueUnderTest) -> list[Finding]:
    """BR114: sets that grow and grow."""
    found = []
    for state, option in (("completed", "removeOnComplete"), ("failed", "removeOnFail")):
        key = tested.key(state)
        count = await tested.server.ask("ZCARD", key)
        if count < _MANY:
            continue
        oldest, newest = await tested.server.ask_all(
            [["ZRANGE", key, 0, 0, "WITHSCORES"], ["ZREVRANGE", key, 0, _SAMPLE - 1]]
        )
        age = now_ms() - (read_number(oldest[1]) or 0) if oldest else 0
        if age < _OLD and count < 10 * _MANY:
            continue
        names = [id.decode(errors="replace") for id in newest]
        opts = await tested.server.ask_all([["HGET", tested.key(id), "opts"] for id in names])
        if not any(_has(text, option) for text in opts):
            detail = f"{count:,} jobs are {state}, the oldest for {age // 86_400_000} days, and no new one has {option}"
            found.append(Finding("BR114", detail, tested.name))
    return found


async def failures(tested: QueueUnderTest) -> list[Finding]:
    """BR116: nobody retries jobs that have failed for good."""
    since = now_ms() - _LATELY
    failed, completed = await tested.server.ask_all(
        [["ZCOUNT", tested.key(state), since, "+inf"] for state in ("failed", "completed")]
    )
    if failed < _MANY_FAILURES or failed * _PART < failed + completed:
        return []
    detail = f"{failed:,} jobs failed in the last hour, and {completed:,} that are kept completed"
    return [Finding("BR116", detail, tested.name)]


def _has(text: bytes | None, option: str) -> bool:
    try:
        return option in orjson.loads(text or b"{}")
    except (ValueError, TypeError):
        return False
