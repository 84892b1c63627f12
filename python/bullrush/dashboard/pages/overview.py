"""``/``: what needs a human, then the queues."""

from __future__ import annotations

from typing import Any

from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.history import Rates
from bullrush.dashboard.pages.attention import FIRST, MOST, sentences
from bullrush.dashboard.pages.line import lines
from bullrush.dashboard.refusal import refused


async def overview(asked: Asked) -> Answer:
    """Return the page."""
    names = await asked.source.names.value()
    seen = await asked.viewer.seen(names.queues)
    found = await lines(asked.source, [asked.source.queue(name) for name in seen])
    report = await asked.source.report.value()
    everything = len(seen) == len(names.queues)
    hidden = frozenset(names.queues).difference(seen)
    shows_all = asked.query("all") is not None
    attention = await sentences(asked, found, report.findings, hidden)
    shown = attention[: MOST if shows_all else FIRST]
    rates = await asked.source.rates.value()
    legacy = {status.name: status for status in await asked.source.legacy.value() if status.is_listed}
    content = {
        "attention": [sentence.content() for sentence in shown],
        "more": len(attention) - len(shown),
        "all": shows_all,
        "first": FIRST,
        "queues": [line.content() | {"rates": _content(rates.get(line.queue))} for line in found],
        "of_bull": [{"queue": name, "legacy": legacy[name].kind} for name in await asked.viewer.seen(legacy)],
        "recorded": asked.source.memory is not None,
        "searched": len(names.queues) if everything else None,
        "refused": None if names.refused is None else refused(names.refused),
        "not_checked": report.skipped if everything else [],
        "workers_known": all(line.workers is not None for line in found),
    }
    return Answer("overview.html", "Queues", content)


def _content(rates: Rates | None) -> dict[str, Any] | None:
    return None if rates is None else rates.content()
