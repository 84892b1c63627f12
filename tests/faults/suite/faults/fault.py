"""What a fault is: it begins, it may last, and it ends."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..round import Round


@dataclass
class Made:
    """A fault that has begun."""

    #: The processes that it can hit, None if it can hit all.
    victims: Iterable[str] | None = None
    #: Seconds until it ends at the latest.
    lasts: float = 0.0
    #: Ends it.
    undo: Callable[[], None] = lambda: None
    #: Ends it earlier when this is true.
    until: Callable[[], bool] = lambda: False
    #: Writes that were acknowledged may be lost: no other server had them.
    may_lose: bool = False
    #: It could not be made, or had no effect, and does not count.
    void: bool = False
    extra: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """One kind of fault."""

    name: str
    begin: "Callable[[Round, random.Random], Made]"
    where: tuple[str, ...]
    #: How often it is chosen in its lane, against the others there.
    weight: int
    #: Faults of one lane follow each other, see `LANES`.
    lane: str = "quick"
