"""Keeps the repeatable jobs of Bull going when their jobs run elsewhere.

A worker of Bull that takes a job of a repeatable adds the next one before. So does the bridge, under the same id and
for the same time: whoever comes second changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from bullrush.extending import now_ms, reply
from bullrush.legacy.bridging.remembered import decoded_object
from bullrush.legacy.migrating.schedulers import owner
from bullrush.legacy.reading import fields_of
from bullrush.legacy.repeatable import next_time, read_repeatable
from bullrush.legacy.wrong_types import WrongType, read_keys

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue


async def continue_repeatable(core: CoreQueue, base: str, id: str) -> None:
    """Schedule the job that follows a job of a repeatable, if nobody has.

    Args:
        core: the queue of Bull.
        base: its prefix and name.
        id: the id of the job that is about to move.
    """
    found, members = await read_keys(
        core, [["HGETALL", f"{base}:{id}"], ["ZRANGE", f"{base}:repeat", 0, -1, "WITHSCORES"]]
    )
    if isinstance(found, WrongType) or isinstance(members, WrongType):
        return
    raw = fields_of(found)
    pairs = zip(members[::2], members[1::2], strict=True)
    known = [read_repeatable(key.decode(errors="replace"), int(float(score))) for key, score in pairs]
    repeatable = owner(id, raw, known)
    if repeatable is None:
        return
    opts = decoded_object(raw.get("opts", b""))
    now = now_ms()
    next = next_time(repeatable, opts["repeat"], max(now, repeatable.next))
    if next is None:
        return
    next_id = f"{id.rpartition(':')[0]}:{next}"
    count = opts["repeat"].get("count")
    repeat = {**opts["repeat"], "count": (count if isinstance(count, int) else 0) + 1}
    delay = max(next - now, 0)
    moment = {"jobId": next_id, "delay": delay, "timestamp": now, "prevMillis": next}
    fields: dict[str, bytes | int] = {
        "name": raw.get("name", b"__default__"),
        "data": raw.get("data", b"{}"),
        "opts": orjson.dumps({**opts, **moment, "repeat": repeat}),
        "timestamp": now,
        "delay": delay,
        "priority": raw.get("priority", b"0"),
    }
    flat = [part for field, value in fields.items() for part in (field, value)]
    await reply(core.legacy_calls("schedule_repeatable", [[repeatable.key, repeatable.next, next, next_id, *flat]]))
