"""What a round does: it follows from a seed, a topology and a number of faults."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from .faults import FAULTS, LANES, Fault


@dataclass
class RoundPlan:
    """The arguments of a round."""

    topology: str
    seed: int
    faults: int
    #: Jobs per producer and turn.
    bulk: int = 100
    #: Seconds between two turns of a producer.
    pause: float = 0.05
    #: Mean seconds between two quick faults; the pauses of other lanes are multiples of it.
    gap: float = 0.3
    only: tuple[str, ...] = ()
    #: All faults follow each other, and one begins every `gap` seconds on average.
    one_by_one: bool = False
    #: Producers of ours wait until a replica has their jobs. None: the seed decides, where there are replicas.
    durable: bool | None = None
    #: Each process is a user of Redis with the rights of its role. None: the seed decides.
    users: bool | None = None

    def __post_init__(self) -> None:
        chance = random.Random(f"{self.seed} options")
        if self.durable is None:
            self.durable = chance.random() < 0.3 and self.topology != "single" and not self.only
        if self.users is None:
            self.users = chance.random() < 0.3 and not self.only

    @property
    def title(self) -> str:
        """The name under which results of such rounds add up."""
        return self.topology + (" durable" if self.durable else "")

    def lanes(self) -> dict[str, Iterator[tuple[Fault, random.Random]]]:
        """Return the faults of each lane, without an end, each fault with its own source of chance."""
        known = [fault for fault in FAULTS.values() if self.topology in fault.where]
        known = [fault for fault in known if not self.only or fault.name in self.only]
        if self.one_by_one:
            return {"all": self._in_turn(known, "all")}
        return {
            lane: self._in_turn([fault for fault in known if fault.lane == lane], lane)
            for lane in LANES
            if any(fault.lane == lane for fault in known)
        }

    def pause_of(self, lane: str) -> float:
        """Return the mean seconds between the end of a fault of a lane and the next one."""
        return LANES.get(lane, 1) * self.gap

    def _in_turn(self, known: list[Fault], lane: str) -> Iterator[tuple[Fault, random.Random]]:
        chance = random.Random(f"{self.seed} {lane}")
        order = list(known)
        chance.shuffle(order)  # each kind once first
        for fault in order:
            yield fault, random.Random(chance.random())
        weights = [fault.weight for fault in known]
        while True:
            (fault,) = chance.choices(known, weights)
            yield fault, random.Random(chance.random())
