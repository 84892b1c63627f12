"""BR101, BR115 and BR117: which other programs use the keys of a queue."""

from __future__ import annotations

import re
from typing import Final

from bullrush.doctor.finding import Finding, counted
from bullrush.doctor.reading import QueueUnderTest
from bullrush.legacy import ADVICE_FOR_BOTH, read_signpost

_VERSION: Final = re.compile(r"bullmq:(\d+)\.")
_KNOWN_MAJORS: Final = (5, 6)


async def users(tested: QueueUnderTest) -> list[Finding]:
    """BR101 and BR115: who else uses the keys."""
    flavor, shown_by, of_bullmq = await tested.users()
    both = flavor and of_bullmq
    found = [Finding("BR101", f"{flavor} uses it: {shown_by}", tested.name)] if both else []
    version = ((await tested.server.ask("HGET", tested.key("meta"), "version")) or b"").decode(errors="replace")
    major = _VERSION.match(version)
    if major and int(major[1]) not in _KNOWN_MAJORS:
        found.append(Finding("BR115", f"the version in meta is {version}", tested.name))
    return found


async def moved(tested: QueueUnderTest) -> list[Finding]:
    """BR117: a program has added jobs after the move, or a move did not end."""
    signpost = await read_signpost(tested.queue)
    if signpost is None:
        return []
    counts = [["LLEN", tested.key("wait")], ["LLEN", tested.key("paused")], ["ZCARD", tested.key("delayed")]]
    *waiting, claimed = await tested.server.ask_all([*counts, ["HLEN", tested.key("ext:claim")]])
    command = signpost.command(tested.queue)
    who = await tested.users()
    if who.of_bullmq:
        # The lists have jobs of both.
        count = sum(waiting) + await tested.server.ask("ZCARD", tested.key("prioritized"))
        what = f"{counted(count, 'job')} in a queue whose jobs go to {signpost}, and BullMQ has used its keys since"
        then = f"{ADVICE_FOR_BOTH}, then run `{command}` again"
        return [Finding("BR117", what, tested.name, instead=then)] if count else []
    abandoned = await _abandoned(tested)
    count = sum(waiting) + abandoned
    if not count and not claimed:
        return []
    detail = f"{counted(count, 'job')} of Bull in a queue whose jobs go to {signpost}"
    detail += f", {abandoned:,} of them active without a worker" if abandoned else ""
    detail += f", and {counted(claimed, 'job')} claimed by a move that did not end" if claimed else ""
    then = f"Run `{command}` again, and change the program with Bull that has added them, or use `--bridge`"
    if abandoned:
        then += ". When no worker of Bull runs any more, `--legacy-workers-stopped` also moves those that are active"
    return [Finding("BR117", detail, tested.name, instead=then)]


async def _abandoned(tested: QueueUnderTest) -> int:
    """Return how many jobs are active and have no lock: their workers have died."""
    ids = [id.decode(errors="replace") for id in await tested.server.ask("LRANGE", tested.key("active"), 0, -1)]
    locks = await tested.server.ask_all([["EXISTS", tested.key(f"{id}:lock")] for id in ids]) if ids else []
    return locks.count(0)
