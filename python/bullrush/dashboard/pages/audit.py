"""``/audit``: who has changed what."""

from __future__ import annotations

from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.pages.failures import ELSEWHERE


async def audit(asked: Asked) -> Answer:
    """Return the page: a line is for who may see its queue and may run jobs there."""
    lines = [
        line if await asked.viewer.names_only_seen(line["outcome"]) else {**line, "outcome": ELSEWHERE}
        for line in asked.audit.lines()
        if await asked.viewer.may("view", line["queue"]) and await asked.viewer.may("run", line["queue"])
    ]
    file = asked.audit.file
    content = {
        "lines": lines,
        "file": None if file is None else file.name,
        "trouble": asked.audit.trouble if lines else None,
    }
    return Answer("audit.html", "Audit", content)
