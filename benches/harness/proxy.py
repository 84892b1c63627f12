"""A proxy in front of a Redis server that lets so many calls through per second: a server whose speed is known.

``python -m benches.harness.proxy redis://127.0.0.1:6379/0 100`` prints its port and serves until its input ends. A call
is one command of the protocol; all connections share the limit.
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial

from benches.harness.relay import run

_PIECE = 1 << 18


class Pace:
    """Gives each call its turn.

    Args:
        rate: calls per second.
    """

    def __init__(self, rate: float) -> None:
        self._step = 1 / rate
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for the turn of one call."""
        now = asyncio.get_running_loop().time()
        # No turn is saved up: a server cannot do later what it did not do before.
        self._next = max(self._next + self._step, now)
        await asyncio.sleep(self._next - now)


class Calls:
    """Cuts the bytes of a client into calls."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._at = 0
        self._open = -1  # how many parts of a call are still to come; -1: between two calls

    def feed(self, piece: bytes) -> list[bytes]:
        """Add bytes, and return the calls that are now complete."""
        self._held += piece
        found, start = [], 0
        while (end := self._held.find(b"\r\n", self._at)) >= 0:
            number = int(self._held[self._at + 1 : end])
            if self._open < 0:
                self._open = number
                self._at = end + 2
            elif len(self._held) < end + number + 4:
                break
            else:
                self._open -= 1
                self._at = end + number + 4
            if self._open == 0:
                found.append(bytes(self._held[start : self._at]))
                start, self._open = self._at, -1
        del self._held[:start]
        self._at -= start
        return found


async def _forward(source: asyncio.StreamReader, target: asyncio.StreamWriter, pace: Pace | None) -> None:
    calls = Calls()
    try:
        while piece := await source.read(_PIECE):
            if pace is None:
                target.write(piece)
            else:
                for call in calls.feed(piece):
                    await pace.turn()
                    target.write(call)
            await target.drain()
    except ConnectionError:
        pass  # the other side has gone
    finally:
        target.close()


def main() -> None:
    run(partial(_forward, pace=Pace(float(sys.argv[2]))), partial(_forward, pace=None))


if __name__ == "__main__":
    main()
