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
        renamed: how many jobs got a new id, ``l-<old id>``.
        left: jobs that are in the legacy queue still, with the reason.
        notes: jobs that were moved and are special, and keys that were not moved.
        before: the number of legacy jobs by state, before.
        after: the same, after.
        dry_run: nothing was written; ``moved`` is what would be moved.
    """

    moved: dict[str, int] = field(default_factory=dict)
    schedulers: int = 0
    renamed: int = 0
    left: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    dry_run: bool = False

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
    """

    legacy: dict[str, int] = field(default_factory=dict)
    target: dict[str, int] = field(default_factory=dict)
    left: list[Remark] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether nothing is left that still has to run."""
        return not self.left

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {**asdict(self), "left": _plain(self.left), "complete": self.complete}


@dataclass
class BridgeReport:
    """What `LegacyQueue.bridge` did.

    Attributes:
        moved: how many jobs were moved, by their legacy state.
        mirrored: how many outcomes were written to the legacy queue.
        renamed: how many jobs got a new id, ``l-<old id>``.
        notes: jobs that were moved and are special.
    """

    moved: dict[str, int] = field(default_factory=dict)
    mirrored: int = 0
    renamed: int = 0
    notes: list[Remark] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain values."""
        return {**asdict(self), "notes": _plain(self.notes)}


def _plain(remarks: list[Remark]) -> list[dict[str, str]]:
    return [remark._asdict() for remark in remarks]
