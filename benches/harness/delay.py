"""A proxy in front of a Redis server that is some way off: every piece of data arrives later.

``python -m benches.harness.delay redis://127.0.0.1:6379/0 2`` adds 2 ms to each round trip, prints its port and serves
until its input ends.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from functools import partial

from benches.harness.relay import run

_PIECE = 1 << 16


async def _forward(source: asyncio.StreamReader, target: asyncio.StreamWriter, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    pieces: deque[bytes] = deque()

    def arrive() -> None:
        target.write(pieces.popleft())

    try:
        while piece := await source.read(_PIECE):
            pieces.append(piece)
            loop.call_later(seconds, arrive)
    except ConnectionError:
        pass  # the other side has gone
    finally:
        loop.call_later(seconds, target.close)


def main() -> None:
    one_way = partial(_forward, seconds=float(sys.argv[2]) / 2_000)
    run(one_way, one_way)


if __name__ == "__main__":
    main()
