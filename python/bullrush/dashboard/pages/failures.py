"""``/q/NAME/failures``: which failures are one failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bullrush.dashboard.answer import Answer, Asked, demand_known
from bullrush.dashboard.commands import command
from bullrush.dashboard.pages.all.connections import Connected, connections
from bullrush.dashboard.pages.onset import onset
from bullrush.dashboard.reading import whole_job
from bullrush.extending import NEWEST_FAILURES
from bullrush.inspection import FailureGroup

#: So many groups are shown.
_MOST: Final = 100
_NAMES: Final = 3
#: What stands for a text that names a job of a queue that the viewer may not see.
ELSEWHERE: Final = "an error that names a queue that you may not see"


async def failures(asked: Asked) -> Answer:
    """Return the page."""
    await demand_known(asked.queue)
    groups = await asked.queue.failures()
    total = await asked.queue.get_failed_count()
    connected = await connections([asked.queue]) or []
    content = {
        "queue": asked.queue_name,
        "may": await asked.viewer.rights(asked.queue_name),
        "groups": [await _shown(asked, group, connected) for group in groups[:_MOST]],
        "more_groups": max(0, len(groups) - _MOST),
        "looked_at": sum(group.count for group in groups),
        "failed": total,
        "newest": NEWEST_FAILURES,
    }
    return Answer("failures.html", f"{asked.queue_name}: failures", content)


async def _shown(asked: Asked, group: FailureGroup, connected: Sequence[Connected]) -> dict[str, Any]:
    names = list(group.names.items())
    return {
        "id": group.id,
        "count": group.count,
        "label": await shown_label(asked, asked.queue_name, group),
        "first": group.first,
        "last": group.last,
        "onset": onset(group.first, {asked.queue_name}, connected),
        "names": []
        if asked.masks.veil().needed
        else [{"name": name, "count": count} for name, count in names[:_NAMES]],
        "more_names": max(0, len(names) - _NAMES),
        "sample": group.job_ids[0],
        "command": command(["jobs", "retry", "--failure", group.id], [asked.queue_name], asked.source.prefix),
    }


async def shown_label(asked: Asked, queue: str, group: FailureGroup) -> str:
    """Return the label of a group as the viewer may see it: the text of an error may quote what is hidden."""
    if not await asked.viewer.names_only_seen(group.label):
        return ELSEWHERE
    if not asked.masks.veil().needed:
        return group.label
    # The label is that of the newest job, so its secrets are those of this job.
    job = await whole_job(asked.source.queue(queue), group.job_ids[0])
    return "an error whose job has gone" if job is None else asked.masks.veil(job.data, job.result).text(group.label)
