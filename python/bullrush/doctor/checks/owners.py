"""BR101 and BR115: which other programs use the keys of a queue."""

from __future__ import annotations

import re
from typing import Final

from bullrush.doctor.finding import Finding
from bullrush.doctor.reading import QueueUnderTest
from bullrush.extending import reply

_VERSION: Final = re.compile(r"bullmq:(\d+)\.")
_KNOWN_MAJORS: Final = (5, 6)


async def users(tested: QueueUnderTest) -> list[Finding]:
    """BR101 and BR115: who else uses the keys."""
    flavor, shown_by, _ = await reply(tested.queue.core.legacy_users())
    found = [Finding("BR101", f"{shown_by} shows {flavor}", tested.name)] if flavor else []
    version = ((await tested.server.ask("HGET", tested.key("meta"), "version")) or b"").decode(errors="replace")
    major = _VERSION.match(version)
    if major and int(major[1]) not in _KNOWN_MAJORS:
        found.append(Finding("BR115", f"the version in meta is {version}", tested.name))
    return found
