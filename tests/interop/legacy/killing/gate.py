"""A proxy that lets so many writing commands of one process through, and holds all that come after."""

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from concurrent.futures import Future

from tests.faults.resp import commands

#: They set up a connection, or only read: Redis is afterwards as it was before, so they are not counted.
_HARMLESS = {
    *(b"AUTH", b"HELLO", b"CLIENT", b"SELECT", b"INFO", b"PING", b"SCRIPT", b"TYPE", b"EXISTS", b"PTTL", b"GET"),
    *(b"HGET", b"HMGET", b"HGETALL", b"HKEYS", b"HEXISTS", b"HLEN", b"LRANGE", b"LLEN", b"LINDEX", b"LPOS"),
    *(b"SSCAN", b"SCARD", b"SMEMBERS", b"ZRANGE", b"ZREVRANGE", b"ZSCORE", b"ZCARD", b"ZCOUNT"),
}


class Gate:
    """Forwards connections to local servers, on its own thread.

    Attributes:
        ports: where it listens, one port per server.
        passed: how many commands that write it has let through since it was opened, of all connections together.
    """

    def __init__(self, servers: Sequence[int]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._connections: set[asyncio.Task[None] | None] = set()
        self._most: int | None = None
        self._reached: Future[None] = Future()
        self.passed = 0
        self._listeners = [self._listen(port) for port in servers]
        self.ports = [listener.sockets[0].getsockname()[1] for listener in self._listeners]

    def open(self, most: int | None = None) -> "Future[None]":
        """Let this many commands that write through from now on, or all.

        The future is done when another one is held.
        """
        self.passed, self._most, self._reached = 0, most, Future()
        return self._reached

    def wait_until_executed(self) -> None:
        """Wait until the servers have executed all that was let through; the client must have ended."""

        async def ended() -> None:
            while self._connections:
                await asyncio.sleep(0.001)

        asyncio.run_coroutine_threadsafe(ended(), self._loop).result(10)

    def close(self) -> None:
        """End it."""
        self.wait_until_executed()
        for listener in self._listeners:
            self._loop.call_soon_threadsafe(listener.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _listen(self, port: int) -> asyncio.Server:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            self._connections.add(task)
            try:
                back, forth = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(self._requests(reader, forth), _replies(back, writer))
                await _closed(forth)
            finally:
                await _closed(writer)
                self._connections.discard(task)

        start = asyncio.start_server(connected, "127.0.0.1", 0)
        return asyncio.run_coroutine_threadsafe(start, self._loop).result(10)

    async def _requests(self, client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            buffer = b""
            while data := await client.read(1 << 16):
                buffer += data
                done = 0
                for words, end in commands(buffer):
                    if not self._lets_through(words[0].upper()):
                        continue
                    server.write(buffer[done:end])
                    done = end
                buffer = buffer[done:]
        # The server reads what came before, executes it, and then closes its side.
        server.write_eof()

    def _lets_through(self, command: bytes) -> bool:
        if self._most is not None and self.passed >= self._most:
            if not self._reached.done():
                self._reached.set_result(None)
            return False
        self.passed += command not in _HARMLESS
        return True


async def _replies(server: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await server.read(1 << 16):
            client.write(data)
            await client.drain()


async def _closed(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        writer.close()
        await writer.wait_closed()
