"""What the two ways of moving jobs have in common: in one slot by one script, or by claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from bullrush.extending import is_reserved_id
from bullrush.legacy.convert import Converted
from bullrush.legacy.wrong_types import WrongType

#: So many jobs are moved in one pipeline.
BATCH: Final = 100

#: Why a job stays whose id another job has, and what to do.
TAKEN: Final = (
    "the other queue has a job with this id: remove one of them, by Queue.remove there or by LegacyQueue.remove here, "
    'or let this one have another id, by taken_ids="rename"'
)

#: Whether jobs keep their ids, or numeric ids get the prefix ``l-``: the target counts with numbers itself.
Ids: TypeAlias = Literal["kept", "l-"]


class Moved(NamedTuple):
    """What became of one job.

    Attributes:
        id: its id in the queue of Bull.
        place: the list or set that had it.
        new_id: its id in the other queue; None if it was not moved.
        reason: why not: ``gone`` is an id without a job, ``taken`` a job whose id another job has, ``locked`` a job
            that a worker holds, ``changed`` a job that has changed while it was read, ``no job`` a key of another type;
            "" if it was moved.
        notes: what is special about it; for ``no job`` what its key is.
        was_taken: it has got its second id, since another job has the first one.
    """

    id: str
    place: str
    new_id: str | None
    reason: str = ""
    notes: tuple[str, ...] = ()
    was_taken: bool = False


class Mover(Protocol):
    """Moves jobs from one queue to the other.

    Attributes:
        size: how many jobs the next batch may have.
    """

    size: int

    async def move(self, place: str, ids: Sequence[str]) -> list[Moved]:
        """Move jobs out of a list or set, in this order; those that are not there any more are left out."""
        ...


def no_job(id: str, place: str, found: WrongType) -> Moved:
    """Return what is reported of an id whose key is of another type."""
    return Moved(id, place, None, "no job", (str(found),))


def new_ids(decision: Ids, rename: str = "") -> Callable[[str], tuple[str, str]]:
    """Return what gives a job its id in BullMQ, and the one to take if a job has that id; "" for none.

    Args:
        decision: whether jobs keep their ids.
        rename: the name of the queue of Bull, with which the second id of every job begins; "" for none.
    """

    def kept(id: str) -> tuple[str, str]:
        return (id, second(id, f"l-{id}")) if is_number(id) else prefixed(id)

    def prefixed(id: str) -> tuple[str, str]:
        return (f"l-{id}" if is_number(id) or is_reserved_id(id) else id), second(id, "")

    def second(id: str, usual: str) -> str:
        return f"{rename}-{id}" if rename else usual

    return kept if decision == "kept" else prefixed


def is_number(id: str) -> bool:
    """Return whether an id comes from a counter."""
    return id.isascii() and id.isdecimal()


def place_of(place: str, new: Converted) -> tuple[str, str | int]:
    """Return the place of a job in BullMQ, and its score there.

    A delayed job keeps its score, which is not returned.
    """
    if place in ("completed", "failed"):
        return place, new.finished_on
    if place == "delayed":
        return place, ""
    if new.priority:
        return "prioritized", new.priority
    return ("front" if place == "active" else "wait"), ""
