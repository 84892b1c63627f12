"""Where the parts of small charts are. Templates draw them as SVG, without any style of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from bullrush.inspection import span

#: The size of a sparkline in pixels, and of one of its bars with the space behind it.
HEIGHT: Final = 18
STEP: Final = 3
#: Bars of a line of the waterfall, in percent: thinner ones could not be seen.
_THINNEST: Final = 0.15
#: What a job did, in words.
WORDS: Final = {
    "wait": "waited",
    "delay": "was delayed",
    "back-off": "backed off",
    "children": "waited for children",
    "claimed": "was claimed",
    "run": "ran",
    "stall": "ran until its worker was lost",
    "gap": "not seen",
}


class Sparkline(NamedTuple):
    """The paths of a sparkline.

    Attributes:
        width: of the whole, in pixels.
        completed: bars of jobs that completed, from below.
        failed: bars of jobs that failed, on top of these.
        unknown: minutes of which something may be missing, along the ground.
        text: what it shows, in words.
    """

    width: int
    completed: str
    failed: str
    unknown: str
    text: str


def sparkline(completed: Sequence[int], failed: Sequence[int], known: Sequence[bool]) -> Sparkline:
    """Return a sparkline of what ended in each minute."""
    most = max((good + bad for good, bad in zip(completed, failed, strict=True)), default=0)
    lower, upper, unknown = [], [], []
    for place, (good, bad, is_known) in enumerate(zip(completed, failed, known, strict=True)):
        x = place * STEP + 1
        low, high = _pixels(good, most), _pixels(good + bad, most)
        # A failure is seen, however many jobs completed.
        low = min(low, high - 1) if bad else low
        if low:
            lower.append(f"M{x} {HEIGHT}v-{low}")
        if bad:
            upper.append(f"M{x} {HEIGHT - low}v-{high - low}")
        if not is_known:
            unknown.append(f"M{x - 1} {HEIGHT - 0.5}h{STEP}")
    minutes = len(completed)
    text = f"In the last {minutes} minutes {sum(completed):,} completed and {sum(failed):,} failed"
    text += f"; of {known.count(False)} minutes something may be missing." if not all(known) else "."
    return Sparkline(minutes * STEP, "".join(lower), "".join(upper), "".join(unknown), text)


def _pixels(value: int, most: int) -> int:
    return 0 if not value else max(1, round(value / most * HEIGHT))


class Segment(NamedTuple):
    """A bar of a line of the waterfall.

    Attributes:
        doing: what the job did.
        left: where it begins, in percent of the line.
        width: in percent.
        text: what it says when somebody points at it.
    """

    doing: str
    left: float
    width: float
    text: str


class Track(NamedTuple):
    """A line of the waterfall: one attempt, or one child.

    Attributes:
        number: of the attempt; None if that is not known.
        segments: its bars.
        text: what happened, in words.
        outcome: how it ended; None if it goes on, or if that was not seen.
    """

    number: int | None
    segments: list[Segment]
    text: str
    outcome: str | None


def tracks(bars: Sequence[Mapping[str, Any]], begin: int, end: int) -> list[Track]:
    """Return the lines of a waterfall, one per attempt.

    Args:
        bars: what the job did, in order; with the fields of `bullrush.recorder.Bar`.
        begin: where the lines begin, in ms since 1970.
        end: where they end, also for what goes on.
    """
    attempts: list[list[Mapping[str, Any]]] = []
    for bar in bars:
        # What was not seen belongs to the attempt before it.
        if not attempts or (bar["number"] is not None and bar["number"] != _number(attempts[-1])):
            attempts.append([])
        attempts[-1].append(bar)
    return [track(attempt, begin, end) for attempt in attempts]


def track(bars: Sequence[Mapping[str, Any]], begin: int, end: int) -> Track:
    """Return one line with these bars."""
    whole = max(end - begin, 1)
    segments = []
    for bar in bars:
        until = end if bar["end"] is None else bar["end"]
        left = min(100 * (bar["begin"] - begin) / whole, 100 - _THINNEST)
        width = max(100 * (until - bar["begin"]) / whole, _THINNEST)
        segments.append(Segment(bar["doing"], round(left, 3), round(width, 3), _said(bar, until)))
    outcome = next((bar["outcome"] for bar in reversed(bars) if bar["outcome"] is not None), None)
    return Track(_number(bars), segments, ", ".join(segment.text for segment in segments), outcome)


def _number(bars: Sequence[Mapping[str, Any]]) -> int | None:
    return next((bar["number"] for bar in bars if bar["number"] is not None), None)


def _said(bar: Mapping[str, Any], until: int) -> str:
    goes_on = " so far" if bar["end"] is None else ""
    return f"{WORDS[bar['doing']]} {span(until - bar['begin'])}{goes_on}"
