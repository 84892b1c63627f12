"""Searching the jobs of a state, part after part."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from bullrush.base.operation import reply
from bullrush.errors import InvalidOptionError
from bullrush.inspection.listing import LISTS
from bullrush.inspection.where import Where
from bullrush.values.naming import nearest

if TYPE_CHECKING:
    from bullrush._core import CoreQueue

#: The newest jobs, which are looked at without rests.
AT_ONCE: Final = 10_000
#: Then Redis is busy with a search for this part of the time. What it takes to read and to write comes on top of what
#: can be measured: together it is at most a tenth.
_SHARE: Final = 0.09
#: So long one call goes on with a search, and so long the first one lasts at most, in ms.
_PART: Final = 400
_FIRST: Final = 2_000
#: A call ends when it has found so many jobs.
_FOUND: Final = 1_000


class Limits(NamedTuple):
    """When a part of a search ends, and how much of Redis it takes.

    Attributes:
        ms: after so long.
        share: the part of the time in which Redis may be busy with it; 1 is without rests.
        jobs: when it has looked at so many jobs.
        found: when it has found so many.
    """

    ms: int
    share: float
    jobs: int
    found: int


class SearchPosition(NamedTuple):
    """Where a search goes on.

    Attributes:
        at: about so many jobs are before it.
        last: the ids that were looked at last.
        looked_at: how many jobs were looked at.
    """

    at: int
    last: list[str]
    looked_at: int


@dataclass(frozen=True)
class Searched:
    """What one part of a search has found.

    Attributes:
        job_ids: the ids of jobs that fit, the newest ones first.
        looked_at: how many jobs the search has looked at, with all parts before.
        total: how many there are with those that it still has to look at.
        too_large: how many jobs of this part were not looked at, since their data has more than 1 MB.
        after: where the search goes on; None if it has ended.
    """

    job_ids: list[str]
    looked_at: int
    total: int
    too_large: int
    after: SearchPosition | None = field(repr=False)


async def search(core: CoreQueue, where: str | Where, state: str, after: SearchPosition | None) -> Searched:
    """Look for jobs of a state, the newest ones first; awaited inside an operation.

    Args:
        core: the compiled side of the queue.
        where: the filter.
        state: the state of the jobs.
        after: where the part before has ended.

    Raises:
        InvalidOptionError: the filter cannot be read, or there is no such state.
    """
    asked = where if isinstance(where, Where) else Where.read(where)
    if state not in LISTS:
        raise InvalidOptionError(f"There is no job state {state!r}.{nearest(state, LISTS)}")
    if not asked.may_be_in(state):
        return Searched([], 0, 0, 0, None)
    limits = Limits(_FIRST, 1.0, AT_ONCE, _FOUND) if after is None else Limits(_PART, _SHARE, AT_ONCE, _FOUND)
    found = await reply(core.search(LISTS[state], asked.conditions, after, limits))
    position = found["after"]
    return Searched(
        found["ids"],
        found["looked_at"],
        found["total"],
        found["too_long"],
        None if position is None else SearchPosition(*position),
    )
