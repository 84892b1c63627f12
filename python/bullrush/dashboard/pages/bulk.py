"""``/q/NAME/bulk/ID``: what a change of many jobs would do, does, or has done."""

from __future__ import annotations

from bullrush.dashboard.answer import Answer, Asked
from bullrush.dashboard.bulk import MOST
from bullrush.dashboard.bulk_actions import content_as_seen


async def bulk(asked: Asked) -> Answer:
    """Return the page, for who has asked for the change."""
    found = asked.bulks.of(asked.viewer.name, asked.queue_name, asked.parts["id"])
    content = {
        **await content_as_seen(asked, found),
        "may": await asked.viewer.rights(asked.queue_name),
        "most": MOST,
    }
    return Answer("bulk.html", f"{found.queue}: {found.verb}", content)
