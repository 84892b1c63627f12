"""A proxy in front of Redis that breaks connections: it cuts, resets or swallows them, or loses the reply to one script."""

import asyncio
import contextlib
import socket
import struct
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from bullrush.scripts import read_scripts

T = TypeVar("T")

_SCRIPTS = {script.sha.encode(): name.partition("/")[2] for name, script in read_scripts().items()}
#: Closing such a socket sends RST instead of FIN.
_RESET = struct.pack("ii", 1, 0)


@dataclass
class Trap:
    """Waits for a call of one script, lets Redis execute it, and breaks the connection instead of delivering the reply."""

    script: str
    #: How much of the reply is delivered.
    share: float
    when: Callable[[list[bytes]], bool]
    sprung: threading.Event = field(default_factory=threading.Event)
    #: Sent after the call: its echo proves that the call was executed.
    mark: bytes = field(default_factory=lambda: uuid.uuid4().hex.encode())


class Proxy:
    """Forwards connections to a local server, on its own thread."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._connections: set[_Connection] = set()
        self._refuses = False
        self._swallows = False
        self._swallows_waits = False
        #: How many connections were made, and how many waits for jobs were swallowed.
        self.accepted = 0
        self.swallowed = 0
        self._trap: Trap | None = None
        self._listener = self._run(asyncio.start_server(self._accept, "127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}/0"

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_exception: object) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """Close all connections."""
        self._call(lambda: [connection.end() for connection in self._connections])

    def reset(self) -> None:
        """Reset all connections."""
        self._call(lambda: [connection.end(reset=True) for connection in self._connections])

    def lead_to(self, port: int) -> None:
        """Relay new connections to another server."""
        self._server_port = port

    def refuse(self, on: bool) -> None:
        """Reset connections as soon as they are made."""
        self._refuses = on

    def swallow(self, on: bool) -> None:
        """Forward nothing, on new connections too, and keep all connections open."""
        self._swallows = on

    def swallow_waits(self, on: bool) -> None:
        """Forward no wait for jobs, as if only that connection were half open."""
        self._swallows_waits = on

    def lose_reply(self, script: str, share: float = 0.0, when: Callable[[list[bytes]], bool] = lambda _: True) -> Trap:
        """Break the connection after the next execution of a script.

        Args:
            script: its name.
            share: how much of the reply is delivered, 0 to 1.
            when: gets the arguments of a call and returns whether to break this one.
        """
        trap = Trap(script, share, when)
        self._trap = trap
        return trap

    def springs(self, command: list[bytes]) -> Trap | None:
        """Return whether the trap waits for this command."""
        trap = self._trap
        if trap is None or command[0] != b"EVALSHA" or _SCRIPTS.get(command[1]) != trap.script:
            return None
        if not trap.when(command[4:]):
            return None
        self._trap = None
        return trap

    def swallows(self, command: list[bytes] | None = None) -> bool:
        """Return whether this data is forwarded."""
        if self._swallows_waits and command is not None and command[0] == b"BZPOPMIN":
            self.swallowed += 1
            return True
        return self._swallows

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(self, reader, writer)
        self.accepted += 1
        self._connections.add(connection)
        try:
            if self._refuses:
                connection.end(reset=True)
            else:
                await connection.relay(self._server_port)
            await connection.ended()
        finally:
            self._connections.discard(connection)

    async def _close(self) -> None:
        # What the loop leaves open is a warning in a later test. So no more is accepted, then all is closed, then the
        # listener: asyncio forgets a connection that is being accepted when its listener closes.
        for listening in self._listener.sockets:
            self._loop.remove_reader(listening.fileno())
        while asyncio.all_tasks() != {asyncio.current_task()}:
            for connection in self._connections:
                connection.end(reset=True)
            await asyncio.sleep(0.001)
        self._listener.close()

    def _run(self, step: Coroutine[object, object, T]) -> T:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(10)

    def _call(self, function: Callable[[], object]) -> None:
        async def call() -> None:
            function()

        self._run(call())


class _Connection:
    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._client = (reader, writer)
        self._server: asyncio.StreamWriter | None = None
        self._trap: Trap | None = None

    def end(self, *, reset: bool = False) -> None:
        client = self._client[1]
        if reset:
            with contextlib.suppress(OSError):  # it was closed in the meantime
                client.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        for writer in (client, self._server):
            if writer is not None:
                writer.transport.abort() if reset else writer.close()

    async def ended(self) -> None:
        """Wait until both sockets are closed."""
        for writer in (self._client[1], self._server):
            if writer is not None:
                with contextlib.suppress(OSError):
                    await writer.wait_closed()

    async def relay(self, port: int) -> None:
        with contextlib.suppress(OSError):
            reader, self._server = await asyncio.open_connection("127.0.0.1", port)
            requests = asyncio.ensure_future(self._requests(self._server))
            replies = asyncio.ensure_future(self._replies(reader))
            await asyncio.wait((requests, replies), return_when=asyncio.FIRST_COMPLETED)
            requests.cancel()
            replies.cancel()
            await asyncio.gather(requests, replies, return_exceptions=True)
        self.end()

    async def _requests(self, server: asyncio.StreamWriter) -> None:
        buffer = b""
        while data := await self._client[0].read(65536):
            if self._trap is not None:
                continue
            buffer += data
            done = 0
            for command, end in commands(buffer):
                # Before the server gets the command, since a trap may look at the state before it runs.
                self._trap = self._proxy.springs(command)
                if not self._proxy.swallows(command):
                    server.write(buffer[done:end])
                done = end
                if self._trap is not None:
                    break
            buffer = buffer[done:]
            if self._trap is not None:
                server.write(b"*2\r\n$4\r\nECHO\r\n$32\r\n" + self._trap.mark + b"\r\n")
            await server.drain()

    async def _replies(self, server: asyncio.StreamReader) -> None:
        kept = b""
        while data := await server.read(65536):
            if self._proxy.swallows():
                continue
            trap = self._trap
            if trap is None:
                self._client[1].write(data)
                await self._client[1].drain()
                continue
            kept += data
            if (end := kept.find(trap.mark)) >= 0:
                self._client[1].write(kept[: int(end * trap.share)])
                await self._client[1].drain()
                self.end()
                trap.sprung.set()
                return


def commands(buffer: bytes) -> Iterator[tuple[list[bytes], int]]:
    """Yield the whole commands at the start of a buffer, each with the position behind it."""
    at = 0
    while (command := _command(buffer, at)) is not None:
        yield command
        at = command[1]


def _command(buffer: bytes, at: int) -> tuple[list[bytes], int] | None:
    line = buffer.find(b"\r\n", at)
    if line < 0:
        return None
    count, at, words = int(buffer[at + 1 : line]), line + 2, []
    for _ in range(count):
        line = buffer.find(b"\r\n", at)
        if line < 0:
            return None
        end = line + 2 + int(buffer[at + 1 : line])
        if len(buffer) < end + 2:
            return None
        words.append(buffer[line + 2 : end])
        at = end + 2
    return words, at
