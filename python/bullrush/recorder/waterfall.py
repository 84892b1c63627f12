"""When a job waited, ran and waited again, as bars on one line; what nobody has seen is a gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

from bullrush.recorder.attempts import Attempt, Outcome

#: What a job did: ``wait`` for a worker, ``delay`` before its first attempt, ``back-off`` before another one, wait for
#: its ``children``; ``claimed`` by a worker that has not started it yet, ``run``, or ``stall``: run by a worker that
#: was lost. ``gap`` is not known.
Doing: TypeAlias = Literal["wait", "delay", "back-off", "children", "claimed", "run", "stall", "gap"]

#: How much earlier than its claim a start may be, by the clock of the worker: of an attempt that goes on, and of one
#: that has ended.
_EARLY_MS: Final = 50
_SKEW_MS: Final = 1_000
_WAITS: Final[dict[str, Doing]] = {"wait": "wait", "children": "children"}


@dataclass
class Bar:
    """A part of the life of a job. Times are in ms since 1970.

    Attributes:
        doing: what the job did.
        begin: from when.
        end: until when; None if it still does so.
        number: of the attempt to which it belongs; None if that is not known.
        outcome: how the attempt ended, at its last bar.
    """

    doing: Doing
    begin: int
    end: int | None
    number: int | None = None
    outcome: Outcome | None = None


class _Moment(NamedTuple):
    """A moment at which a job began to do something else.

    Attributes:
        at: when.
        before: what it did before, as this event alone says; None if it does not.
        after: what it did from then on; None if it had ended.
    """

    at: int
    before: Doing | None
    after: Doing | None
    attempt: Attempt


def waterfall(
    attempts: Sequence[Attempt], gaps: Sequence[tuple[int, int]], processed_on: int | None = None
) -> list[Bar]:
    """Return the life of a job as bars, in their order.

    Args:
        attempts: those that are remembered, in their order.
        gaps: between which times events may be missing, in their order.
        processed_on: the last start by the hash of the job, if it is still there. The stream says when a job was
            claimed; a worker may start it later.
    """
    started = None if processed_on is None else _started(attempts, processed_on)
    bars: list[Bar] = []
    last: _Moment | None = None
    for moment in _moments(attempts, started, processed_on):
        if last is None:
            bars += _beginning(moment, gaps)
        elif last.after is not None or moment.before is not None:
            bars += _between(last, moment, gaps)
        if last is not None and last.attempt is not moment.attempt and bars:
            _mark_end(bars, last.attempt)
        last = moment
    if last is not None and last.after is not None:
        bars += _until_now(last, gaps)
    if last is not None and bars:
        _mark_end(bars, last.attempt)
    return bars


def _mark_end(bars: list[Bar], attempt: Attempt) -> None:
    """Note the outcome at the last bar of an attempt."""
    own = next((bar for bar in reversed(bars) if bar.end is not None and bar.end == attempt.ended), None)
    if own is not None and own.outcome is None:
        own.outcome = attempt.outcome


def _started(attempts: Sequence[Attempt], processed_on: int) -> Attempt | None:
    """Return the attempt that started at this time, which is the last one unless that is only claimed."""
    for attempt in reversed(attempts):
        # The clocks of workers are not that of Redis. An attempt that has ended was surely started.
        early = _EARLY_MS if attempt.ended is None else _SKEW_MS
        if attempt.claimed is None or processed_on < attempt.claimed - early:
            continue
        return attempt if attempt.ended is None or processed_on <= attempt.ended + _SKEW_MS else None
    return None


def _moments(attempts: Sequence[Attempt], started: Attempt | None, processed_on: int | None) -> Iterator[_Moment]:
    for place, attempt in enumerate(attempts):
        waits: Doing = "wait"
        if attempt.before == "delay":
            is_first = place == 0 and attempt.number in (1, None)
            waits = "delay" if is_first else "back-off"
        elif attempt.before is not None:
            waits = _WAITS[attempt.before]
        runs: Doing = "stall" if attempt.outcome == "stalled" else "run"
        if attempt.queued is not None:
            yield _Moment(attempt.queued, None, waits, attempt)
        if attempt.ready is not None and attempt.ready != attempt.queued:
            yield _Moment(attempt.ready, None if attempt.before is None else waits, "wait", attempt)
        if attempt.claimed is not None:
            start = processed_on if attempt is started and processed_on is not None else attempt.claimed
            if start > attempt.claimed:
                yield _Moment(attempt.claimed, "wait", "claimed", attempt)
                yield _Moment(start, "claimed", runs, attempt)
            else:
                # A worker takes its time before the call that claims the job, so it may be a little less.
                yield _Moment(start, "wait", runs, attempt)
        if attempt.ended is not None:
            before = runs if attempt.claimed is not None or attempt.outcome != "removed" else None
            yield _Moment(attempt.ended, before, None, attempt)


def _beginning(first: _Moment, gaps: Sequence[tuple[int, int]]) -> Iterator[Bar]:
    """Yield what a job did before its first event that was seen, if that is not its beginning."""
    if first.before is None or first.attempt.number == 1:
        return
    gap = next((gap for gap in reversed(gaps) if gap[1] <= first.at), None)
    if gap is not None:
        yield Bar("gap", gap[0], gap[1], first.attempt.number)
        if gap[1] < first.at:
            yield Bar(first.before, gap[1], first.at, first.attempt.number)


def _between(last: _Moment, moment: _Moment, gaps: Sequence[tuple[int, int]]) -> Iterator[Bar]:
    """Yield what a job did between two events. Only in a gap it may have done something else."""
    if moment.at <= last.at:
        return
    after, before = last.after, moment.before or last.after
    within = [(max(begin, last.at), min(end, moment.at)) for begin, end in gaps if begin < moment.at and end > last.at]
    number = last.attempt.number
    if not within:
        yield Bar(after if after == before and after is not None else "gap", last.at, moment.at, number)
        return
    if after != before:
        # Between two gaps nothing was heard of it, but what it did is not known.
        within = [(within[0][0], within[-1][1])]
    at = last.at
    for begin, end in within:
        if begin > at and after is not None:
            yield Bar(after, at, begin, number)
        yield Bar("gap", begin, end, number if after == before else None)
        at = end
    if at < moment.at and before is not None:
        yield Bar(before, at, moment.at, moment.attempt.number)


def _until_now(last: _Moment, gaps: Sequence[tuple[int, int]]) -> Iterator[Bar]:
    """Yield what a job does since its last event: after a gap it is not known whether it still does so."""
    assert last.after is not None
    gap = next((gap for gap in gaps if gap[1] > last.at), None)
    open_end = Bar(last.after, last.at, None, last.attempt.number)
    if gap is None:
        yield open_end
        return
    if gap[0] > last.at:
        yield replace(open_end, end=gap[0])
    yield Bar("gap", max(gap[0], last.at), None, last.attempt.number)
