"""A fake Sentinel, which names the master that a test wants."""

import contextlib
import socket
import socketserver

from .resp import commands
from .threaded_server import ThreadedServer

CHANNEL = b"+switch-master"


def reply(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class _Answers(socketserver.BaseRequestHandler):
    server: "FakeSentinel"

    def handle(self) -> None:
        buffer = b""
        try:
            while data := self.request.recv(65536):
                buffer += data
                done = 0
                for command, end in commands(buffer):
                    self.request.sendall(self._answer(command))
                    done = end
                buffer = buffer[done:]
        finally:
            self.server.listeners.discard(self.request)

    def _answer(self, command: list[bytes]) -> bytes:
        match command[0].upper():
            case b"SENTINEL":
                return reply(b"127.0.0.1", b"%d" % self.server.master)
            case b"SUBSCRIBE":
                self.server.listeners.add(self.request)
                return b"*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n" % (len(command[1]), command[1])
            case _:
                return b"+OK\r\n"


class FakeSentinel(ThreadedServer):
    """Names one server of this machine as the master `main`, and tells its listeners when it is another one.

    Args:
        master: the port of the server.
    """

    def __init__(self, master: int) -> None:
        self.master = master
        self.listeners: set[socket.socket] = set()
        super().__init__(_Answers)
        self.port: int = self.server_address[1]

    def switch(self, master: int) -> None:
        """Name another server."""
        before, self.master = self.master, master
        text = b"main 127.0.0.1 %d 127.0.0.1 %d" % (before, master)
        for listener in tuple(self.listeners):
            with contextlib.suppress(OSError):
                listener.sendall(reply(b"message", CHANNEL, text))

    def hang_up(self) -> None:
        """Close the connections of all listeners."""
        for listener in tuple(self.listeners):
            self.listeners.discard(listener)
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
