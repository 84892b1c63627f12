"""A proxy in front of Redis that breaks connections: it cuts, resets, delays, swallows or changes, or loses a reply."""

import asyncio
import contextlib
import random
import socket
import struct
import threading
import uuid
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from enum import Enum

from bullrush.scripts import read_scripts
from tests.looping import Looping

from .resp import commands, reply_end

#: The names of the scripts by their SHA-1.
SCRIPT_NAMES = {script.sha.encode(): name.partition("/")[2] for name, script in read_scripts().items()}
#: Closing such a socket sends RST instead of FIN.
_RESET = struct.pack("ii", 1, 0)


@dataclass
class Trap:
    """Waits for a call of some scripts, lets Redis execute it, and breaks the connection instead of replying."""

    scripts: Container[str | None]
    #: How much of the reply is delivered.
    share: float
    when: Callable[[list[bytes]], bool]
    #: The ports of the clients whose calls it waits for, None for all.
    ports: Container[int] | None = None
    sprung: threading.Event = field(default_factory=threading.Event)
    #: Sent after the call: its echo proves that the call was executed.
    mark: bytes = field(default_factory=lambda: uuid.uuid4().hex.encode())


@dataclass
class HeldRequest:
    """Waits for a call of a script, and keeps it from Redis until `deliver`. From then on its connection is silent."""

    script: str
    server_port: int
    request: bytes = b""
    held: threading.Event = field(default_factory=threading.Event)

    def deliver(self) -> None:
        """Let Redis execute the call, whoever waits for it."""
        with socket.create_connection(("127.0.0.1", self.server_port)) as server:
            server.sendall(self.request)
            server.recv(1)


class Disorder(Enum):
    """What happens to a reply, or to a piece of the stream, while its connection stays open."""

    LOST = "lost"
    DOUBLED = "doubled"
    #: It comes after the next piece.
    LATE = "late"


@dataclass
class Disturbance:
    """Waits for the next piece of a reply to one of some clients, and disturbs it."""

    disorder: Disorder
    #: Only the first reply of the piece, if a whole one is there; else all of it.
    one_reply: bool
    #: The ports of the clients whose replies it waits for, None for all.
    ports: Container[int] | None
    happened: threading.Event = field(default_factory=threading.Event)

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """Return what is disturbed of a piece, and the rest."""
        end = reply_end(data, 0) if self.one_reply else None
        return data[:end], data[len(data) if end is None else end :]


class Proxy(Looping):
    """Forwards connections to a local server, on its own thread."""

    def __init__(self, port: int, *, listen_on: int = 0) -> None:
        super().__init__()
        self._server_port = port
        self._connections: set[_Connection] = set()
        self._refuses = False
        self._swallows = False
        self._swallows_waits = False
        self._delay = 0.0
        self._mutation: tuple[random.Random, float] | None = None
        self._answers_waits = False
        self._hangs_up = False
        self._reset_by: bytes | None = None
        #: How many connections were made, and how many waits for jobs were swallowed, or answered here.
        self.accepted = 0
        self.swallowed = 0
        self.answered = 0
        self._held_request: HeldRequest | None = None
        self._trap: Trap | None = None
        self._disturbance: Disturbance | None = None
        self._listener = self._run(asyncio.start_server(self._accept, "127.0.0.1", listen_on))
        self.url = f"redis://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}/0"

    def cut(self, ports: Container[int] | None = None) -> None:
        """Close all connections, or those of the clients at these ports."""
        self._call(lambda: [connection.end() for connection in self._of(ports)])

    def reset(self, ports: Container[int] | None = None) -> None:
        """Reset all connections, or those of the clients at these ports."""
        self._call(lambda: [connection.end(reset=True) for connection in self._of(ports)])

    @property
    def ports(self) -> set[int]:
        """The ports of the clients that are connected."""
        return {connection.port for connection in list(self._connections)}

    def _of(self, ports: Container[int] | None) -> list["_Connection"]:
        return [one for one in self._connections if ports is None or one.port in ports]

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

    def delay(self, seconds: float) -> None:
        """Deliver each piece of a reply this much later, as a line far away does; 0 ends it."""
        self._delay = seconds

    def mutate(self, chance: random.Random | None, share: float = 0.0) -> None:
        """Change one byte in this share of the pieces of replies, at random; None ends it."""
        self._mutation = (chance, share) if chance else None

    def answer_waits(self, on: bool) -> None:
        """Answer each wait for jobs at once, as a server does whose clock is set forward during the wait."""
        self._answers_waits = on

    def reset_by(self, text: bytes | None) -> None:
        """Reset each connection whose reply has this text, as a firewall does that looks into the data."""
        self._reset_by = text

    def resets(self, data: bytes) -> bool:
        """Return whether this piece of a reply resets its connection."""
        return self._reset_by is not None and self._reset_by in data

    def hang_up(self, on: bool) -> None:
        """Close a connection when it calls a script: it was made, and is of no use."""
        self._hangs_up = on

    def half_open(self, *, waits: bool = True, calls: bool = True) -> None:
        """Forward nothing more on the connections that are open now, and keep them open. New ones are relayed.

        Args:
            waits: those that wait for jobs.
            calls: the others.
        """

        def leave() -> None:
            for connection in self._connections:
                connection.dead |= waits if connection.waits else calls

        self._call(leave)

    def answers(self, command: list[bytes]) -> bytes | None:
        """Return the reply to a command that is not forwarded."""
        if self._answers_waits and command[0] == b"BZPOPMIN":
            self.answered += 1
            return b"*-1\r\n"
        return None

    def hangs_up(self, command: list[bytes]) -> bool:
        """Return whether this command closes the connection."""
        return self._hangs_up and command[0] == b"EVALSHA"

    def lose_reply(
        self,
        script: str | Container[str | None],
        share: float = 0.0,
        when: Callable[[list[bytes]], bool] = lambda _: True,
        ports: Container[int] | None = None,
    ) -> Trap:
        """Break the connection after the next execution of a script.

        Args:
            script: its name, or the names of several, any of which is meant.
            share: how much of the reply is delivered, 0 to 1.
            when: gets the arguments of a call and returns whether to break this one.
            ports: those of the clients whose calls count, None for all.
        """
        trap = Trap({script} if isinstance(script, str) else script, share, when, ports)
        self._trap = trap
        return trap

    def hold_request(self, script: str) -> HeldRequest:
        """Keep the next call of a script from Redis, and everything else of its connection."""
        self._held_request = HeldRequest(script, self._server_port)
        return self._held_request

    def holds(self, command: list[bytes]) -> HeldRequest | None:
        """Return what waits for this command."""
        held = self._held_request
        if held is None or command[0] != b"EVALSHA" or SCRIPT_NAMES.get(command[1]) != held.script:
            return None
        self._held_request = None
        return held

    def disturb(
        self, disorder: Disorder, *, one_reply: bool = False, ports: Container[int] | None = None
    ) -> Disturbance:
        """Lose, double or delay the next piece of a reply, and keep the connection open.

        Args:
            disorder: what happens to it.
            one_reply: to the first reply of the piece only.
            ports: those of the clients whose replies count, None for all.
        """
        self._disturbance = Disturbance(disorder, one_reply, ports)
        return self._disturbance

    def disarm(self) -> None:
        """Lose and disturb no reply."""
        self._trap = self._disturbance = None

    def disturbs(self, port: int) -> Disturbance | None:
        """Return the disturbance if it waits for replies to the client at this port."""
        found = self._disturbance
        if found is None or (found.ports is not None and port not in found.ports):
            return None
        self._disturbance = None
        return found

    def springs(self, command: list[bytes], port: int) -> Trap | None:
        """Return the trap if it waits for this command of the client at this port."""
        trap = self._trap
        if trap is None or command[0] != b"EVALSHA" or SCRIPT_NAMES.get(command[1]) not in trap.scripts:
            return None
        if trap.ports is not None and port not in trap.ports:
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

    async def delivered(self, data: bytes) -> bytes:
        """Return what of a piece of a reply reaches the client, when it is to arrive."""
        if self._delay:
            await asyncio.sleep(self._delay)
        if self._mutation and self._mutation[0].random() < self._mutation[1]:
            chance, at = self._mutation[0], self._mutation[0].randrange(len(data))
            return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        return data

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
        # What the loop leaves open is a warning in a later test.
        self._stop_accepting(self._listener)
        while asyncio.all_tasks() != {asyncio.current_task()}:
            for connection in self._connections:
                connection.end(reset=True)
            await asyncio.sleep(0.001)
        self._listener.close()


class _Connection:
    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._client = (reader, writer)
        #: That of the client.
        self.port: int = (writer.get_extra_info("peername") or (None, 0))[1]
        self._server: asyncio.StreamWriter | None = None
        self._trap: Trap | None = None
        #: Nothing gets through any more; it has waited for jobs.
        self.dead = False
        self.waits = False

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
            if self._trap is not None or self.dead:
                continue
            buffer += data
            done = 0
            for command, end in commands(buffer):
                # Before the server gets the command, since a trap may look at the state before it runs.
                self._trap = self._proxy.springs(command, self.port)
                self.waits |= command[0] == b"BZPOPMIN"
                if held := self._proxy.holds(command):
                    held.request = buffer[done:end]
                    self.dead = True
                    held.held.set()
                    break
                if self._proxy.hangs_up(command):
                    return
                if reply := self._proxy.answers(command):
                    self._client[1].write(reply)
                elif not self._proxy.swallows(command):
                    server.write(buffer[done:end])
                done = end
                if self._trap is not None:
                    break
            buffer = buffer[done:]
            if self.dead:
                continue
            if self._trap is not None:
                server.write(b"*2\r\n$4\r\nECHO\r\n$32\r\n" + self._trap.mark + b"\r\n")
            await server.drain()

    async def _replies(self, server: asyncio.StreamReader) -> None:
        kept = late = b""
        while data := await server.read(65536):
            if self._proxy.swallows() or self.dead:
                continue
            if self._proxy.resets(data):
                self.end(reset=True)
                return
            trap = self._trap
            if trap is None:
                data, late = await self._proxy.delivered(data) + late, b""
                if disturbance := self._proxy.disturbs(self.port):
                    piece, rest = disturbance.split(data)
                    data = piece * (2 if disturbance.disorder is Disorder.DOUBLED else 0) + rest
                    late = piece if disturbance.disorder is Disorder.LATE else b""
                    disturbance.happened.set()
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
