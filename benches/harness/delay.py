"""A proxy in front of a Redis server that is some way off: every piece of data arrives later.

``python -m benches.harness.delay redis://127.0.0.1:6379/0 2`` adds 2 ms to each round trip, prints its port and serves
until its input ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import deque
from urllib.parse import urlsplit

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


async def serve(url: str, milliseconds: float) -> None:
    """Serve until the process ends."""
    server, one_way = urlsplit(url), milliseconds / 2_000

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection(server.hostname, server.port)
        await asyncio.gather(_forward(reader, forth, one_way), _forward(back, writer, one_way))

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1_000)
    print(listening.sockets[0].getsockname()[1], flush=True)
    async with listening:
        await listening.serve_forever()


def main() -> None:
    # The end of the input ends the proxy, also when its parent is killed.
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    asyncio.run(serve(sys.argv[1], float(sys.argv[2])))


if __name__ == "__main__":
    main()
