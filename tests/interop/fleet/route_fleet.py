"""A fleet on a base queue and its routes: our workers with profiles, plain workers of BullMQ 5.62.0 and of ours."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.driver.ledger import Ledger

from .fleet import CONCURRENCY, Fleet
from .routes import PROFILES, Fields, fits


class Member(NamedTuple):
    """A process of the fleet: its kind, what it serves, and the profile of its worker, None for a plain one."""

    kind: str
    queues: list[str]
    profile: Fields | None = None


def members(base: str, route: str) -> dict[str, Member]:
    """Return every kind of worker that may meet on a base queue and one of its routes."""
    kinds = ("sync", "aio")
    routed = {
        name: Member(kinds[number % 2], [base], profile) for number, (name, profile) in enumerate(PROFILES.items())
    }
    return {
        **routed,
        "plain": Member("sync", [base]),
        "nodebase": Member("bullmq5", [base]),
        "noderoute": Member("bullmq5", [route]),
    }


@dataclass
class RouteFleet(Fleet):
    """Starts, kills and stops the members by their names. ``queues`` are the base and its routes."""

    members: dict[str, Member] = field(default_factory=dict)

    @classmethod
    def of(cls, url: str, queues: list[str], route: str, folder: Path) -> "RouteFleet":
        """Return a fleet of which no process runs yet."""
        all_members = members(queues[0], route)
        return cls(url, queues, folder, members=all_members)

    def start(self, name: str) -> None:
        """Start the process of a member."""
        kind, queues, profile = self.members[name]
        more = {} if profile is None else {"profile": profile, "routes_only": name == "four"}
        self._start(name, kind, queues, **more)

    def runs_cut_off(self) -> int:
        """A worker has as many slots as before, however many routes it serves."""
        return self.cut_off * CONCURRENCY

    def misroutes(self, targets: dict[str, Fields]) -> Counter[str]:
        """Return the runs that began on a worker that may not run the job, as ``member queue``.

        Args:
            targets: the target of each route, by the name of its queue.
        """
        wrong: Counter[str] = Counter()
        for path in self.folder.glob("*.ledger"):
            name = path.stem.partition("-")[2]
            _, queues, profile = self.members[name]
            allowed = set(queues) - ({self.queues[0]} if name == "four" else set())
            for job in Ledger(path).begun:
                queue = job.partition(":")[0]
                if queue not in allowed and not (profile and queue in targets and fits(targets[queue], profile)):
                    wrong[f"{name} {queue}"] += 1
        return wrong
