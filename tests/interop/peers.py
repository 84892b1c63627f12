"""The versions of real BullMQ that the tests run beside: pinned in `package-lock.json`, with a lock of their scripts.

``pytest tests/interop --peer 6`` and ``make interop PEER=6`` choose one; without that each room has its own.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Peer:
    """One pinned version. ``name`` is what ``--peer`` gets, ``library`` its alias in `package.json`."""

    name: str
    library: str

    @property
    def package(self) -> Path:
        """Where the installed package is."""
        return HERE / "node_modules" / self.library

    @property
    def lock_file(self) -> Path:
        return HERE / "locks" / f"{self.name}.lock"

    @property
    def lock(self) -> dict[str, Any]:
        """Version and integrity of the package, and the SHA-256 of each of its scripts."""
        lock: dict[str, Any] = json.loads(self.lock_file.read_text())
        return lock

    @property
    def version(self) -> str:
        version: str = self.lock["version"]
        return version

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])


#: What bullrush writes where nobody says otherwise.
FLOOR = Peer("5.62.0", "bullmq5")
NEWEST_5 = Peer("5", "bullmq5-newest")
NEWEST_6 = Peer("6", "bullmq6")
PEERS = {peer.name: peer for peer in (FLOOR, NEWEST_5, NEWEST_6)}

#: Rooms whose tests run beside more than the floor if nobody chooses.
_PEERS_OF_ROOM = {"live": (FLOOR, NEWEST_6)}


def peers_of(room: str) -> tuple[Peer, ...]:
    """Return the peers of a room, by its folder, for a run in which none was chosen."""
    return _PEERS_OF_ROOM.get(room, (FLOOR,))
