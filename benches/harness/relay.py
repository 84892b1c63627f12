"""What the proxies of the benchmarks share: a process that stands in front of a Redis server until its input ends."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import TypeAlias
from urllib.parse import urlsplit

#: Passes on what one side sends to the other until it ends.
Forward: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def _serve(url: str, there: Forward, back: Forward) -> None:
    server = urlsplit(url)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        replies, calls = await asyncio.open_connection(server.hostname, server.port)
        await asyncio.gather(there(reader, calls), back(replies, writer))

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1_000)
    print(listening.sockets[0].getsockname()[1], flush=True)
    async with listening:
        await listening.serve_forever()


def run(there: Forward, back: Forward) -> None:
    """Print the port and serve the Redis server of the first argument until the process ends.

    Args:
        there: passes on what clients send.
        back: passes on the replies.
    """
    # The end of the input ends the proxy, also when its parent is killed.
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    asyncio.run(_serve(sys.argv[1], there, back))
