"""The jobs of a state: how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bullrush.base.operation import reply
from bullrush.values.states import STATES

if TYPE_CHECKING:
    from bullrush.base.handle import Handle

#: The keys of each state. A paused queue may keep the jobs that wait in another list.
LISTS: Final = {**{name: [key] for name, key in STATES.items()}, "waiting": ["wait", "paused"]}


async def count_states(handle: Handle, states: Sequence[str]) -> dict[str, int]:
    """Return how many jobs are in some states; awaited inside an operation.

    `Queue.get_job_counts` returns the same by a script, which costs Redis several times as much.

    Args:
        handle: the queue.
        states: the states.
    """
    keys = [key for state in states for key in LISTS[state]]
    found = dict(zip(keys, await reply(handle.core.count_states(keys)), strict=True))
    return {state: sum(found[key] for key in LISTS[state]) for state in states}
