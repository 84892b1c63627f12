"""What a repeatable of Bull becomes: a job scheduler. No call of this file touches Redis."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import orjson

from bullrush.errors import InvalidOptionError
from bullrush.extending import cron_next
from bullrush.legacy.convert import RawHash, Rules, convert, read_options
from bullrush.legacy.repeatable import Repeatable

#: How the ids of the pending jobs of repeatables begin.
PENDING: Final = "repeat:"
#: The names of Bull's repeat options that have another one in BullMQ.
_CRON: Final = "cron"
_NO_ZONE: Final = (
    "its cron pattern has no time zone: as with Bull, that of whichever worker makes the next job counts. "
    "tz=ZONE gives it one"
)


class Scheduler(NamedTuple):
    """A job scheduler and its next job, as BullMQ would hold them.

    Attributes:
        id: the scheduler's id.
        name: the name of its jobs.
        opts: the options of the next job, JSON, without what depends on its time.
        prev_millis: the time of the next job for a cron pattern, "" for an interval.
        priority: the priority of its jobs.
        lifo: its jobs run before others.
        fields: the fields of the scheduler's hash, without ``data``.
        notes: what the user has to know.
    """

    id: str
    name: bytes
    opts: bytes
    prev_millis: str
    priority: int
    lifo: bool
    fields: dict[str, bytes]
    notes: tuple[str, ...]


def scheduler_id(source: str, repeatable: Repeatable) -> str:
    """Return the id of the scheduler that a repeatable of a queue becomes: two queues may have the same one."""
    return "legacy-" + hashlib.md5(f"{source}:{repeatable.key}".encode(), usedforsecurity=False).hexdigest()


def owner(id: str, raw: RawHash, repeatables: Iterable[Repeatable]) -> Repeatable | None:
    """Return the repeatable whose pending job this is, None for any other job."""
    given = _repeat_options(raw)
    for one in repeatables:
        if not (id.startswith(PENDING) and id.endswith(f":{one.next}")):
            continue
        if given.get("key") == one.key:
            return one
        # Bull 3.0 does not store the key.
        name = raw.get("name", b"").decode(errors="replace")
        interval = given.get("every")
        if "key" not in given and name == one.name and (given.get(_CRON), interval) == (one.pattern, one.every):
            return one
    return None


def has_times(repeatable: Repeatable) -> bool:
    """Return whether the key of a repeatable says when it runs: by an interval, or by a pattern that can be read."""
    return bool(repeatable.every) or _is_pattern(repeatable.pattern)


def as_scheduler(id: str, repeatable: Repeatable, raw: RawHash, now: int, rules: Rules) -> Scheduler:
    """Return the scheduler that a repeatable becomes.

    Args:
        id: the scheduler's id, see `scheduler_id`.
        repeatable: the repeatable, which `has_times`.
        raw: the hash of its pending job.
        now: the time, ms.
        rules: see `Rules`.
    """
    new = convert(raw, "delayed", now, rules)
    given_opts = read_options(new.fields["opts"])
    opts: dict[str, Any] = given_opts if isinstance(given_opts, dict) else {"attempts": 0}
    given = _repeat_options(raw)
    count = given["count"] if isinstance(given.get("count"), int) else 1
    repeat = _repeat(repeatable, given, rules)
    fields = {"name": new.fields["name"], "ic": b"%d" % count}
    for member, value in repeat.items():
        fields[member] = str(value).encode()
    fields["offset"] = b"%d" % (repeatable.next % repeatable.every if repeatable.every else 0)
    template = {member: value for member, value in opts.items() if (member, value) != ("attempts", 0)}
    if template:
        fields["opts"] = orjson.dumps(template)
    stored = {**opts, "repeat": {**repeat, "count": count}, "repeatJobKey": id, "timestamp": now}
    return Scheduler(
        id=id,
        name=new.fields["name"],
        opts=orjson.dumps(stored),
        prev_millis="" if repeatable.every else str(repeatable.next),
        priority=new.priority,
        lifo=bool(opts.get("lifo")),
        fields=fields,
        notes=new.notes + zone_notes(repeatable, raw, rules),
    )


def _is_pattern(pattern: str | None) -> bool:
    """Return whether a worker can tell the times of a cron pattern: Bull 3.0 stores "undefined" for one it refused."""
    try:
        return pattern is not None and cron_next(pattern, "UTC", 0) is not None
    except InvalidOptionError:
        return False


def zone_notes(repeatable: Repeatable, raw: RawHash | None, rules: Rules) -> tuple[str, ...]:
    """Return the note about a cron pattern without a time zone."""
    given = {} if raw is None else _repeat_options(raw)
    return () if repeatable.every or _zone(repeatable, given, rules) else (_NO_ZONE,)


def _zone(repeatable: Repeatable, given: dict[str, Any], rules: Rules) -> str | None:
    return repeatable.tz or given.get("tz") or ("UTC" if given.get("utc") else rules.tz)


def _repeat(repeatable: Repeatable, given: dict[str, Any], rules: Rules) -> dict[str, Any]:
    """Return the repeat options under BullMQ's names, without the count."""
    repeat: dict[str, Any] = {}
    if repeatable.every:
        # The jobs after the next one keep its phase.
        repeat |= {"every": repeatable.every, "startDate": repeatable.next}
    else:
        repeat["pattern"] = repeatable.pattern
        if tz := _zone(repeatable, given, rules):
            repeat["tz"] = tz
    if isinstance(given.get("limit"), int):
        repeat["limit"] = given["limit"]
    if repeatable.end_date is not None:
        repeat["endDate"] = repeatable.end_date
    return repeat


def _repeat_options(raw: RawHash) -> dict[str, Any]:
    try:
        opts = orjson.loads(raw.get("opts", b"{}"))
    except orjson.JSONDecodeError:
        return {}
    given = opts.get("repeat") if isinstance(opts, dict) else None
    return given if isinstance(given, dict) else {}
