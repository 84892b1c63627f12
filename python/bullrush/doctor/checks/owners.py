"""BR101 and BR115: which other programs use the keys of a queue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import orjson

from bullrush.doctor.finding import Finding
from bullrush.doctor.reading import QueueUnderTest, texts
from bullrush.extending import reply

_VERSION: Final = re.compile(r"bullmq:(\d+)\.")
_KNOWN_MAJORS: Final = (5, 6)
#: Jobs of each place that are read, at both of its ends: where both add, the jobs of one of them may be few.
_SAMPLE: Final = 5
_LISTS: Final = ("wait", "paused", "active")
_SETS: Final = ("delayed", "completed", "failed")
#: A job with one of these is of a scheduler of BullMQ, or a worker of BullMQ had it.
_OF_BULLMQ: Final = ("rjk", "atm", "ats", "stc")
_FIELDS: Final = ("opts", "name", "attempts", *_OF_BULLMQ)


async def users(tested: QueueUnderTest) -> list[Finding]:
    """BR101 and BR115: who else uses the keys."""
    flavor, shown_by, bullmq = await reply(tested.queue.core.legacy_users())
    if bullmq and (not flavor or shown_by.startswith("job ")):
        # A job of BullMQ with the option `timestamp`, as each of a scheduler has it, looks like one of Bull.
        shown_by = await _job_of_bull(tested)
        flavor = "Bull" if shown_by else ""
    found = [Finding("BR101", f"{shown_by} shows {flavor}", tested.name)] if flavor else []
    version = ((await tested.server.ask("HGET", tested.key("meta"), "version")) or b"").decode(errors="replace")
    major = _VERSION.match(version)
    if major and int(major[1]) not in _KNOWN_MAJORS:
        found.append(Finding("BR115", f"the version in meta is {version}", tested.name))
    return found


async def _job_of_bull(tested: QueueUnderTest) -> str:
    """Return a job that only Bull can have added, among those at the ends of the lists and sets; "" without one."""
    last = _SAMPLE - 1
    ends = (("0", last), (-_SAMPLE, "-1"))
    ranges = [[("ZRANGE" if place in _SETS else "LRANGE"), tested.key(place), *end]
              for place in (*_LISTS, *_SETS) for end in ends]  # fmt: skip
    pages = await tested.server.ask_all(ranges)
    ids = list(dict.fromkeys(id for page in pages for id in texts(page)))
    hashes = await tested.server.ask_fields([["HMGET", tested.key(id), *_FIELDS] for id in ids])
    return next((f"job {tested.key(id)}" for id, hash in zip(ids, hashes, strict=True) if _is_of_bull(hash)), "")


def _is_of_bull(values: Sequence[bytes | None]) -> bool:
    opts, name, attempts, *of_bullmq = values
    if any(value is not None for value in of_bullmq):
        return False
    if attempts is not None or name is None:
        return opts is not None  # Bull 1 and 2
    try:
        options: Any = orjson.loads(opts or b"")
    except ValueError:
        return False
    return isinstance(options, dict) and _has_defaults_of_bull(options)


def _has_defaults_of_bull(options: dict[str, Any]) -> bool:
    """Tell whether Bull 3 or 4 made these options: it adds the attempts, the delay, and then the time to each job.

    BullMQ writes the attempts as 0 if none are given, the delay and the time only if they are given, and in another
    order.
    """
    if not {"attempts", "delay", "timestamp"} <= options.keys() or not options["attempts"]:
        return False
    repeat = options.get("repeat")
    if isinstance(repeat, dict):
        return "cron" in repeat or "key" in repeat
    return next(reversed(options)) == "timestamp"
