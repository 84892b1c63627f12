"""A server that refuses commands with a given error, and passes all others to a real Redis, one after another."""

import socket
import socketserver
import threading
from collections import Counter
from collections.abc import Iterable
from typing import BinaryIO

from .proxy import SCRIPT_NAMES
from .resp import commands
from .threaded_server import ThreadedServer


class _Relay(socketserver.BaseRequestHandler):
    server: "RefusingServer"

    def handle(self) -> None:
        self.server.accepted += 1
        with socket.create_connection(("127.0.0.1", self.server.redis_port)) as redis, redis.makefile("rb") as replies:
            buffer = b""
            while data := self.request.recv(65536):
                buffer += data
                done = 0
                for command, end in commands(buffer):
                    refusal = self.server.refusal(command)
                    if refusal is None:
                        redis.sendall(buffer[done:end])
                    self.request.sendall(refusal or _reply(replies))
                    done = end
                buffer = buffer[done:]


class RefusingServer(ThreadedServer):
    """Counts connections, and the commands by their name; scripts have a name of their own."""

    def __init__(self, redis_port: int) -> None:
        self.redis_port = redis_port
        self.accepted = 0
        self.seen: list[str] = []
        self._error = b""
        #: How many commands of each name it will still refuse.
        self._left: Counter[str] = Counter()
        self._lock = threading.Lock()
        super().__init__(_Relay)

    def refuse(self, names: str | Iterable[str], error: str, times: int) -> None:
        """Refuse the next commands of each of these names: scripts, or commands such as ``BZPOPMIN``."""
        names = [names] if isinstance(names, str) else names
        with self._lock:
            self._left, self._error = Counter(dict.fromkeys(names, times)), f"-{error}\r\n".encode()

    @property
    def left(self) -> int:
        """How many commands it will still refuse."""
        return self._left.total()

    def refusal(self, command: list[bytes]) -> bytes | None:
        """Return the error for a command, None for one that Redis gets."""
        name = SCRIPT_NAMES.get(command[1], "EVALSHA") if command[0] == b"EVALSHA" else command[0].decode()
        with self._lock:
            self.seen.append(f"SCRIPT {command[1].decode()}" if name == "SCRIPT" else name)
            if self._left[name] == 0:
                return None
            self._left[name] -= 1
            return self._error

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients close connections at any time."""


def _reply(replies: BinaryIO) -> bytes:
    """Read one reply, as it is."""
    line = replies.readline()
    kind, count = line[:1], line[1:-2]
    if kind in b"$=" and count != b"-1":
        return line + replies.read(int(count) + 2)
    if kind in b"*~>" and count != b"-1":
        return line + b"".join(_reply(replies) for _ in range(int(count)))
    if kind == b"%":
        return line + b"".join(_reply(replies) for _ in range(2 * int(count)))
    return line
