"""Workers that are connected and send nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bullrush.dashboard.pages.all.connections import Connected
from bullrush.inspection import span

#: A worker that waits for jobs asks Redis again after 5 s by default, one of Node after 10 s at most.
SILENT: Final = 12_000
#: Redis says in whole seconds for how long somebody is connected, and a worker says at first who it is.
_AT_FIRST: Final = 2_000


def silence(connected: Iterable[Connected]) -> str | None:
    """Say which workers send nothing; None if all do.

    Args:
        connected: the workers of a queue in which nothing runs: one whose slots are taken does not wait, either.
    """
    silent = [(one.idle, one) for one in connected if one.idle is not None and one.idle >= SILENT]
    if not silent:
        return None
    idle, one = min(silent, key=lambda found: found[0])
    if len(silent) > 1:
        who = f"{len(silent):,} workers have sent nothing for {span(idle)} or longer"
    else:
        name = one.name or f"The worker at {one.address}"
        is_new = one.age is not None and one.age - idle <= _AT_FIRST
        who = f"{name} has sent nothing {f'since it connected, {span(idle)} ago' if is_new else f'for {span(idle)}'}"
    they = "they were never run, are paused, hang" if len(silent) > 1 else "it was never run, is paused, hangs"
    only = "run" if len(silent) > 1 else "runs"
    usual = "a worker that waits for jobs sends something every few seconds"
    return f"{who}; {usual}. Perhaps {they}, or {only} jobs of other queues."
