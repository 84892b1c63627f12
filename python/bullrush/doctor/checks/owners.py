"""BR101, BR115 and BR117: which other programs use the keys of a queue."""

from __future__ import annotations

import re
from typing import Final

from bullrush.doctor.finding import Finding, counted
from bullrush.doctor.reading import QueueUnderTest, texts
from bullrush.extending import reply

_VERSION: Final = re.compile(r"bullmq:(\d+)\.")
_KNOWN_MAJORS: Final = (5, 6)


async def users(tested: QueueUnderTest) -> list[Finding]:
    """BR101 and BR115: who else uses the keys."""
    flavor, shown_by, _ = await reply(tested.queue.core.legacy_users())
    found = [Finding("BR101", f"{flavor} uses it: {shown_by}", tested.name)] if flavor else []
    version = ((await tested.server.ask("HGET", tested.key("meta"), "version")) or b"").decode(errors="replace")
    major = _VERSION.match(version)
    if major and int(major[1]) not in _KNOWN_MAJORS:
        found.append(Finding("BR115", f"the version in meta is {version}", tested.name))
    return found


async def moved(tested: QueueUnderTest) -> list[Finding]:
    """BR117: a program with Bull has added jobs after the move."""
    if not await tested.server.ask("EXISTS", tested.key("ext:moved")):
        return []
    prefix, name = texts(await tested.server.ask("HMGET", tested.key("ext:moved"), "prefix", "name"))
    counts = await tested.server.ask_all(
        [["LLEN", tested.key("wait")], ["LLEN", tested.key("paused")], ["ZCARD", tested.key("delayed")]]
    )
    detail = f"{counted(sum(counts), 'job')} of Bull in a queue whose jobs go to {prefix}:{name}"
    return [Finding("BR117", detail, tested.name)] if any(counts) else []
