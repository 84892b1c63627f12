"""Who had connected shortly before a failure began, and may have brought it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from bullrush.dashboard.pages.all.connections import Connected

#: Who connects at most so many ms before the first failure may have brought it.
_SHORTLY: Final = 120_000
#: Redis says in whole seconds for how long somebody has been connected.
_STEP: Final = 1_000


def onset(first: int | None, queues: Collection[str], connected: Sequence[Connected]) -> dict[str, Any] | None:
    """Return which worker had connected shortly before the first job of a failure failed; None if none had.

    Args:
        first: when that was, in ms since 1970; None if it is not known.
        queues: the queues with this failure.
        connected: the workers.
    """
    if first is None:
        return None
    before = [
        (max(0, first - since), one)
        for one in connected
        if one.queue in queues and (since := one.since) is not None and -_STEP <= first - since <= _SHORTLY
    ]
    if not before:
        return None
    passed, one = min(before, key=lambda found: found[0])
    return {"worker": one.name, "address": one.address, "queue": one.queue, "before": passed}
