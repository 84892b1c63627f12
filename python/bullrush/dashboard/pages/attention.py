"""What needs a human: as sentences, the worst first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

from bullrush.dashboard.answer import Asked
from bullrush.dashboard.pages.failures import shown_label
from bullrush.dashboard.pages.limits import no_worker
from bullrush.dashboard.pages.line import Line
from bullrush.doctor import Finding
from bullrush.errors import BullrushError
from bullrush.extending import STUCK_AFTER
from bullrush.inspection import span
from bullrush.routing import route_base

#: So many sentences the first page has at first, and at most.
FIRST: Final = 7
MOST: Final = 100
#: Slots that are all held for so many ms without a start are probably held by jobs that hang.
_HELD_TOO_LONG: Final = 600_000
#: Of so many queues with failures the causes are looked at.
_FAILING: Final = 3
#: What the sentences about the queues say already: no worker, deaf workers, many failures.
_SAID: Final = frozenset({"BR107", "BR108", "BR116"})
#: The pages that mark what the doctor has found; otherwise that of the queue. What they mark is named, so many at most.
_PAGES: Final = {"BR112": "schedulers"}
_NAMED: Final = 3
#: Longer ids are cut.
_LONGEST: Final = 80


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

    def content(self) -> dict[str, Any]:
        """Return what stands in a page."""
        return {"queue": self.queue, "text": self.text, "page": self.page, "urgent": self.urgent}


async def sentences(
    asked: Asked, lines: Sequence[Line], findings: Sequence[Finding], hidden: Collection[str]
) -> list[Sentence]:
    """Return the sentences.

    Args:
        asked: who asks.
        lines: the queues that the viewer may see.
        findings: what the doctor has found.
        hidden: the names of the queues that the viewer may not see.
    """
    found = [sentence for line in lines for sentence in _of_queue(line)]
    failing = sorted((line for line in lines if line.failed), key=lambda line: -line.failed)
    found += await asyncio.gather(*(_of_failures(asked, line) for line in failing[:_FAILING]))
    found += [_of_count(line) for line in failing[_FAILING:]]
    found += [
        _of_finding(finding)
        for finding in findings
        if finding.code not in _SAID and _is_for_viewer(finding, {line.queue for line in lines}, hidden)
    ]
    return sorted(found, key=lambda sentence: sentence.rank)


async def sentences_of_queue(asked: Asked, line: Line) -> list[Sentence]:
    """Return the sentences of the first page about one queue, with what the doctor has found when it looked last."""
    report, names = asked.source.report.known(), asked.source.names.known()
    findings = [] if report is None else [finding for finding in report.findings if finding.queue == line.queue]
    all_names = names.queues if findings and names is not None else ()
    hidden = frozenset(all_names).difference(await asked.viewer.seen(all_names))
    return await sentences(asked, [line], findings, hidden)


def _of_queue(line: Line) -> Iterator[Sentence]:
    work, name = line.work, line.queue
    waiting = _what_is_due(line)
    oldest = "" if work.oldest_age is None else f", the oldest for {span(work.oldest_age)}"
    old = work.oldest_age is not None and work.oldest_age >= STUCK_AFTER
    if line.error is not None:
        yield Sentence(2, name, line.error)
    elif line.is_stuck and line.workers == 0:
        base = route_base(name)
        route = "" if base is None else f" This is a route of {base}."
        yield Sentence(0, name, f"{no_worker(name)} is connected; {waiting}{oldest}.{route}")
    elif line.is_stuck:
        since = "yet" if work.last_start_age is None else f"for {span(work.last_start_age)}"
        if work.active:
            running = f"{work.active:,} {'job runs' if work.active == 1 else 'jobs run'}"
            yield Sentence(2, name, f"{running}, and no other one has started {since}; {waiting}{oldest}.")
        else:
            silence = "" if line.silence is None else f" {line.silence}"
            yield Sentence(0, name, f"Nobody has taken a job {since}; {waiting}{oldest}.{silence}")
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
    try:
        if await asked.viewer.may("data", line.queue):
            groups = await asked.source.failures.value(asked.source.queue(line.queue))
            if groups:
                label = await shown_label(asked, line.queue, groups[0])
                most = "" if line.failed == 1 else ", all" if len(groups) == 1 else ", most"
                return Sentence(4, line.queue, f"{_failed(line)}{most} with {label}.", "failures")
    except BullrushError:
        pass  # the count stands without its cause
    return _of_count(line)


def _of_count(line: Line) -> Sentence:
    return Sentence(4, line.queue, f"{_failed(line)}.", "failures")


def _failed(line: Line) -> str:
    return f"{line.failed:,} {'job' if line.failed == 1 else 'jobs'} failed in the last hour"


def _of_finding(finding: Finding) -> Sentence:
    urgent = finding.severity == "fault"
    text = f"{finding.about.title}: {finding.detail}{_named(finding)}. {finding.advice}. ({finding.code})"
    return Sentence(1 if urgent else 5, finding.queue, text, _PAGES.get(finding.code, ""), urgent=urgent)


def _named(finding: Finding) -> str:
    if finding.code not in _PAGES:
        return ""
    ids = [id if len(id) <= _LONGEST else f"{id[:_LONGEST]}…" for id in finding.ids[:_NAMED]]
    return f" ({', '.join(ids)}{', …' if len(finding.ids) > _NAMED else ''})"


def _is_for_viewer(finding: Finding, seen: Collection[str], hidden: Collection[str]) -> bool:
    """Tell whether a finding says nothing about a queue that the viewer may not see."""
    if finding.queue is not None and finding.queue not in seen:
        return False
    if finding.queue is None and hidden:
        return False  # it is for those who see the whole server
    return not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", finding.detail) for name in hidden)
