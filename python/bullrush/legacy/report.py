"""What a migration did, and what it left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, TypeAlias


class Progress(NamedTuple):
    """How far a migration is.

    Attributes:
        moved: how many jobs were moved so far.
        total: how many there are in all: an estimate, since producers may add jobs meanwhile.
        state: the state whose jobs are moved now.
    """

    moved: int
    total: int
    state: str


#: Is called after every batch.
OnProgress: TypeAlias = Callable[[Progress], object]


class LegacyClient(NamedTuple):
    """A connection of a program with Bull.

    Attributes:
        address: host and port as Redis sees them; "" for a listener that Redis does not tell from others.
        role: ``worker`` waits for jobs; ``listener`` hears of delayed jobs: a worker of any version, or a producer of
            1.x or 2.x; ``client`` is another connection with the name that Bull gives it.
    """

    address: str
    role: str


@dataclass(frozen=True)
class LegacyUse:
    """Who uses the queue of Bull still.

    Attributes:
        clients: the connections of programs with Bull; None if Redis refuses to list them.
        left: how many jobs and repeatables are left there; finished jobs do not count.
        owes: callers wait there for outcomes that the bridge has not written yet.
        quiet: no job has come for a minute, as far as the bridge has seen.
        paused: the queue is paused: nothing moves until it is resumed.
    """

    clients: tuple[LegacyClient, ...] | None = None
    left: int = 0
    owes: bool = False
    quiet: bool = False
    paused: bool = False

    @property
    def safe_to_clean_up(self) -> bool:
        """Whether nothing shows that Bull needs the queue. Producers of Bull 3 and 4 are seen only when they add."""
        return self.clients == () and not self.left and not self.owes and self.quiet


#: Is called when the use has changed.
OnUse: TypeAlias = Callable[[LegacyUse], object]


class Remark(NamedTuple):
    """What the user has to know about one job, or about one key that is no job.

    Attributes:
        id: the job's id, or the name of the key.
        state: the legacy list or set that holds it; "" for a key that is no job.
        reason: why it was left, or what is special about it.
    """

    id: str
    state: str
    reason: str


@dataclass
class MigrationReport:
    """What `LegacyQueue.migrate` did.

    Attributes:
        moved: how many jobs were moved, by their legacy state.
        schedulers: how many repeatables became job schedulers.
        renamed: how many jobs got a new id, ``l-<old id>`` or ``<queue>-<old id>``.
        taken: how many jobs found that another job has their id: with ``taken_ids="rename"`` they got the id
            ``<queue>-<old id>``, else they are among ``left``.
        left: jobs that are in the legacy queue still, with the reason.
        notes: jobs that were moved and are special, and keys that were not moved.
        before: the number of legacy jobs by state, before.
        after: the same, after.
        dry_run: nothing was written; ``moved`` is what would be moved.
        differences: only of a dry run: how many jobs lose their ``priority`` with ``order="keep"``, how many with
            exponential ``backoff`` wait otherwise than in Bull, and for how many each worker needs the ``strategy``
            `bullrush.legacy.bull_backoff`. ``max_backoff``: how many have a back-off that is longer than an hour, which
            is the longest of a worker by default.
    """

    moved: dict[str, int] = field(default_factory=dict)
    schedulers: int = 0
    renamed: int = 0
    taken: int = 0
    left: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    dry_run: bool = False
    differences: dict[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether nothing was left."""
        return not self.left

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {**asdict(self), "left": _plain(self.left), "notes": _plain(self.notes), "complete": self.complete}


@dataclass
class Verification:
    """What `LegacyQueue.verify` found.

    Attributes:
        legacy: the number of jobs of the legacy queue by state.
        target: the number of jobs of the other queue by state.
        left: jobs and repeatables that are in the legacy queue still, with the reason. Finished jobs are not among
            them.
        clients: the connections of programs with Bull; None if Redis refuses to list them. Producers of 3.x and 4.x
            are not seen.
    """

    legacy: dict[str, int] = field(default_factory=dict)
    target: dict[str, int] = field(default_factory=dict)
    left: list[Remark] = field(default_factory=list)
    clients: tuple[LegacyClient, ...] | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing is left that still has to run."""
        return not self.left

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values."""
        more = {"clients": _plain_clients(self.clients), "complete": self.complete}
        return {**asdict(self), "left": _plain(self.left), **more}


@dataclass
class GivenBack:
    """What `LegacyQueue.give_back` did.

    Attributes:
        returned: how many claimed jobs are in the legacy queue again, by their legacy state.
        arrived: how many the other queue had got already: they stay there.
    """

    returned: dict[str, int] = field(default_factory=dict)
    arrived: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return asdict(self)


@dataclass
class BridgeReport:
    """What `LegacyQueue.bridge` did.

    Attributes:
        moved: how many jobs were moved, by their legacy state.
        mirrored: how many outcomes were written to the legacy queue.
        renamed: how many jobs got a new id, ``l-<old id>`` or ``<queue>-<old id>``.
        taken: how many of them since another job has the old one.
        notes: jobs that were moved and are special.
        use: who used the queue of Bull at the end.
    """

    moved: dict[str, int] = field(default_factory=dict)
    mirrored: int = 0
    renamed: int = 0
    taken: int = 0
    notes: list[Remark] = field(default_factory=list)
    use: LegacyUse = LegacyUse()

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        clients = _plain_clients(self.use.clients)
        use = {**asdict(self.use), "clients": clients, "safe_to_clean_up": self.use.safe_to_clean_up}
        return {**asdict(self), "notes": _plain(self.notes), "use": use}


def _plain(remarks: list[Remark]) -> list[dict[str, str]]:
    return [remark._asdict() for remark in remarks]


def _plain_clients(clients: tuple[LegacyClient, ...] | None) -> list[dict[str, str]] | None:
    return None if clients is None else [client._asdict() for client in clients]
