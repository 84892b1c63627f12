"""What needs a human: at most seven sentences, the worst first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from bullrush.dashboard.answer import Asked
from bullrush.dashboard.pages.failures import shown_label
from bullrush.doctor import Finding, Report
from bullrush.errors import BullrushError
from bullrush.extending import STUCK_AFTER
from bullrush.inspection import DueWork, Overview, span

_MOST: Final = 7
#: Slots that are all held for so many ms without a start are probably held by jobs that hang.
_HELD_TOO_LONG: Final = 600_000
#: So many queues with failures are looked at, and so many of the failures of each.
_FAILING: Final = 3
_NEWEST: Final = 250
#: What the sentences about the queues say already: no worker, deaf workers, many failures.
_SAID: Final = frozenset({"BR107", "BR108", "BR116"})
#: The pages that mark what the doctor has found; otherwise that of the queue.
_PAGES: Final = {"BR112": "schedulers"}


@dataclass(frozen=True)
class Line:
    """What the first page says about a queue.

    Attributes:
        queue: its name.
        found: how many jobs it has, and what is due; nothing if it cannot be read.
        workers: how many are connected; None if that is not known.
        is_stuck: work is due, and nobody takes it.
        next_added: how many ms ago the job was added that is next in a paused queue; None in another one.
        error: why the queue cannot be read; None if it can.
    """

    queue: str
    found: Overview
    workers: int | None = None
    is_stuck: bool = False
    next_added: int | None = None
    error: str | None = None

    @property
    def work(self) -> DueWork:
        """What is due."""
        return self.found.work

    @property
    def failed(self) -> int:
        """How many of the kept jobs failed in the last hour."""
        return self.found.failed_lately

    @property
    def waiting(self) -> int:
        """How many jobs wait, also while the queue is paused."""
        return self.work.waiting

    def content(self) -> dict[str, Any]:
        """Return the line of the table."""
        return {
            "queue": self.queue,
            "paused": self.work.paused,
            "limited": self.work.limited,
            "waiting": self.waiting,
            "active": self.found.active,
            "delayed": self.found.delayed,
            "waiting_children": self.found.waiting_children,
            "completed": self.found.completed,
            "failed": self.found.failed,
            "failed_last_hour": self.failed,
            "oldest_due_age": self.work.oldest_age,
            "workers": self.workers,
            "next_added_age": self.next_added,
            "stuck": self.is_stuck,
            "error": self.error,
        }


class Sentence(NamedTuple):
    """A sentence of the first page.

    Attributes:
        rank: the order; lower ones come first.
        queue: the queue that it is about; None for the server.
        text: what is wrong.
        page: the part of the queue's address that says more.
        urgent: somebody has to do something now.
    """

    rank: int
    queue: str | None
    text: str
    page: str = ""
    urgent: bool = True


async def sentences(
    asked: Asked, lines: Sequence[Line], report: Report, hidden: Collection[str]
) -> tuple[list[dict[str, Any]], int]:
    """Return the sentences, and how many more there would be.

    Args:
        asked: who asks.
        lines: the queues that the viewer may see.
        report: what the doctor has found.
        hidden: the names of the queues that the viewer may not see.
    """
    found = [sentence for line in lines for sentence in _of_queue(line)]
    failing = sorted((line for line in lines if line.failed), key=lambda line: -line.failed)
    found += await asyncio.gather(*(_of_failures(asked, line) for line in failing[:_FAILING]))
    found += [
        _of_finding(finding)
        for finding in report.findings
        if finding.code not in _SAID and _is_for_viewer(finding, {line.queue for line in lines}, hidden)
    ]
    found.sort(key=lambda sentence: sentence.rank)
    shown = [{"queue": one.queue, "text": one.text, "page": one.page, "urgent": one.urgent} for one in found[:_MOST]]
    return shown, max(0, len(found) - _MOST)


def _of_queue(line: Line) -> Iterator[Sentence]:
    work, name = line.work, line.queue
    waiting = _what_is_due(line)
    oldest = "" if work.oldest_age is None else f", the oldest for {span(work.oldest_age)}"
    old = work.oldest_age is not None and work.oldest_age >= STUCK_AFTER
    if line.error is not None:
        yield Sentence(2, name, line.error)
    elif line.is_stuck and line.workers == 0:
        yield Sentence(0, name, f"No worker is connected; {waiting}{oldest}.")
    elif line.is_stuck:
        since = "yet" if work.last_start_age is None else f"for {span(work.last_start_age)}"
        if work.active:
            running = f"{work.active:,} {'job runs' if work.active == 1 else 'jobs run'}"
            yield Sentence(2, name, f"{running}, and no other one has started {since}; {waiting}{oldest}.")
        else:
            yield Sentence(0, name, f"Nobody has taken a job {since}; {waiting}{oldest}.")
    elif line.next_added is not None and line.next_added >= STUCK_AFTER:
        yield Sentence(3, name, f"It is paused; {waiting}, and the next one was added {span(line.next_added)} ago.")
    elif work.slots is not None and work.active >= work.slots and old and (work.last_start_age or 0) > _HELD_TOO_LONG:
        held = f"All {work.slots:,} slots of the global concurrency are taken"
        yield Sentence(1, name, f"{held}, and no job has started for {span(work.last_start_age or 0)}; {waiting}.")


def _what_is_due(line: Line) -> str:
    if line.waiting:
        return f"{line.waiting:,} {'job waits' if line.waiting == 1 else 'jobs wait'}"
    if line.work.abandoned:
        return f"{line.work.active:,} {'job runs' if line.work.active == 1 else 'jobs run'} in workers that are gone"
    return "jobs wait whose delay is over"


async def _of_failures(asked: Asked, line: Line) -> Sentence:
    """Say how many jobs failed, and what most of them have in common."""
    jobs = f"{line.failed:,} {'job' if line.failed == 1 else 'jobs'} failed in the last hour"
    try:
        if await asked.viewer.may("data", line.queue):
            groups = await asked.source.queue(line.queue).failures(_NEWEST)
            if groups:
                label = await shown_label(asked, line.queue, groups[0])
                most = "" if line.failed == 1 else ", all" if len(groups) == 1 else ", most"
                return Sentence(4, line.queue, f"{jobs}{most} with {label}.", "failures")
    except BullrushError:
        pass  # the count stands without its cause
    return Sentence(4, line.queue, f"{jobs}.", "failures")


def _of_finding(finding: Finding) -> Sentence:
    urgent = finding.severity == "fault"
    text = f"{finding.about.title}: {finding.detail}. {finding.advice}. ({finding.code})"
    return Sentence(1 if urgent else 5, finding.queue, text, _PAGES.get(finding.code, ""), urgent=urgent)


def _is_for_viewer(finding: Finding, seen: Collection[str], hidden: Collection[str]) -> bool:
    """Tell whether a finding says nothing about a queue that the viewer may not see."""
    if finding.queue is not None and finding.queue not in seen:
        return False
    if finding.queue is None and hidden:
        return False  # it is for those who see the whole server
    return not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", finding.detail) for name in hidden)
