"""The faults that have happened, and the moves of the queue that no fault has made."""

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .round import Round


@dataclass
class Happened:
    """A fault that has happened: its name, when it began and ended (monotonic s), and whom it could hit."""

    name: str
    began: float
    ended: float
    victims: frozenset[str] | None
    may_lose: bool
    #: It is a fault of its own, not what another one led to.
    counts: bool = True


class Watch(threading.Thread):
    """Notes when another server has the queue although no fault moved it: on a busy machine a server may seem down."""

    MOVING = ("planned failover", "master killed", "master cut off", "slot migrated")

    def __init__(self, round: "Round") -> None:
        super().__init__(daemon=True)
        self._round, self._over = round, threading.Event()
        self.start()

    def run(self) -> None:
        known = self._round.topology.named_master()
        while not self._over.wait(0.5):
            port = self._round.topology.named_master()
            if port and known and port != known:
                now = time.monotonic()
                self._round.moves.append((now, port))
            known = port or known

    def end(self) -> None:
        """Stop, and add the moves that no fault explains to the faults."""
        self._over.set()
        self.join(30)
        happened = self._round.happened
        for at, _ in self._round.moves:
            if not any(one.name in self.MOVING and one.began <= at <= one.ended + 10 for one in happened):
                happened.append(Happened("failover by itself", at - 8, at, None, True, counts=False))
