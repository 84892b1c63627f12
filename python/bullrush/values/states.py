"""The states of jobs."""

from __future__ import annotations

from typing import Final

#: Every state, and the key with its ids.
STATES: Final = {
    "waiting": "wait",
    "paused": "paused",
    "active": "active",
    "delayed": "delayed",
    "prioritized": "prioritized",
    "waiting-children": "waiting-children",
    "completed": "completed",
    "failed": "failed",
}
#: States whose jobs are ordered by the time when they were finished.
FINISHED: Final = ("completed", "failed")
