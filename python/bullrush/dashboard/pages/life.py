"""The life of a job as a recorder has seen it: its attempts, and those of its children."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final

from bullrush.dashboard.answer import Asked
from bullrush.recorder import Bar, History

#: So many bars are drawn; JSON has all of them. A job that failed thousands of times is like that at its end, too.
_DRAWN: Final = 200
#: So many children and grandchildren have a line.
_RELATIVES: Final = 12
#: Children, and their children.
_LEVELS: Final = 2

#: Returns the children of a job: the queue and id of each.
ChildrenOf = Callable[[str, str], Awaitable[list[tuple[str, str]]]]


async def life(
    asked: Asked,
    job_id: str,
    processed_on: int | None = None,
    children_of: ChildrenOf | None = None,
    heard: int | None = None,
) -> dict[str, Any] | None:
    """Return what is remembered of a job; None if there is no history, or nothing of this job in it.

    Args:
        asked: who asks.
        job_id: the job.
        processed_on: its last start by its own hash, if it still exists.
        children_of: tells which children a job has that the viewer may see.
        heard: when a job that is gone was last heard of: its life ends there.
    """
    queue, memory = asked.queue_name, asked.source.memory
    if memory is None:
        return None
    known = await memory.ask(lambda history: history.remembered(queue))
    bars = await _bars(asked, queue, job_id, processed_on)
    if known is None or not bars:
        return None
    if heard is not None:
        bars = _until(bars, heard)
    relatives: list[dict[str, Any]] = []
    if children_of is not None:
        await _add_children(asked, (queue, job_id), children_of, relatives, 1)
    moments = [bar.begin for bar in bars] + [one["bars"][0]["begin"] for one in relatives]
    ends = [bar.end for bar in bars] + [bar["end"] for one in relatives for bar in one["bars"]]
    goes_on = None in ends
    return {
        "since": known.since,
        "share": known.share,
        "begin": min(moments),
        "end": int(time.time() * 1_000) if goes_on else max(end for end in ends if end is not None),
        "goes_on": goes_on,
        "bars": [asdict(bar) for bar in bars],
        "drawn": _DRAWN,
        "children": relatives,
    }


async def _bars(asked: Asked, queue: str, job_id: str, processed_on: int | None = None) -> list[Bar]:
    memory = asked.source.memory
    assert memory is not None
    return last_life(await memory.ask(partial(_ask_bars, queue, job_id, processed_on)) or [])


def _ask_bars(queue: str, job_id: str, processed_on: int | None, history: History) -> list[Bar]:
    return history.waterfall(queue, job_id, processed_on)


def last_life(bars: Sequence[Bar]) -> list[Bar]:
    """Return the bars of the last job that had this id: it may be used again when a job was removed."""
    start = 0
    for place in range(1, len(bars)):
        before = bars[place - 1]
        if bars[place].number == 1 and (before.outcome is not None or before.number not in (1, None)):
            start = place
    return list(bars[start:])


def _until(bars: Sequence[Bar], heard: int) -> list[Bar]:
    """Let the last bar end where the job was last heard of: one that is gone goes on with nothing."""
    return [
        replace(bar, end=max(bar.begin, heard)) if bar.end is None else bar
        for bar in bars
        if bar.end is not None or bar.doing != "gap" or len(bars) == 1
    ]


async def _add_children(
    asked: Asked, parent: tuple[str, str], children_of: ChildrenOf, found: list[dict[str, Any]], level: int
) -> None:
    """Add the lines of the children of a job, each followed by those of its own children."""
    for queue, job_id in await children_of(*parent):
        if len(found) >= _RELATIVES:
            return
        bars = await _bars(asked, queue, job_id)
        if not bars:
            continue
        found.append({"queue": queue, "id": job_id, "level": level, "bars": [asdict(bar) for bar in bars]})
        if level < _LEVELS and any(bar.doing == "children" for bar in bars):
            await _add_children(asked, (queue, job_id), children_of, found, level + 1)
