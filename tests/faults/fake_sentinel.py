"""A fake Sentinel, which names the master that a test wants."""

import contextlib
import socket
import socketserver

from .resp import commands
from .threaded_server import ThreadedServer

SWITCHED = b"+switch-master"
#: What a Sentinel says before it makes a replica the master, and where it says that it does not.
BEGINS = b"+failover-state-send-slaveof-noone"
GIVEN_UP = b"-failover-abort-"


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
            case b"SUBSCRIBE" | b"PSUBSCRIBE":
                # The pattern comes last: then it hears everything.
                if command[1].startswith(GIVEN_UP):
                    self.server.listeners.add(self.request)
                kind = command[0].lower()
                return b"*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:1\r\n" % (len(kind), kind, len(command[1]), command[1])
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
        self._publish(reply(b"message", SWITCHED, b"main 127.0.0.1 %d 127.0.0.1 %d" % (before, master)))

    def begin_failover(self, name: str = "main", replica: int = 1) -> None:
        """Say that this replica will be the master of this name."""
        text = b"slave 127.0.0.1:%d 127.0.0.1 %d @ %s 127.0.0.1 %d" % (replica, replica, name.encode(), self.master)
        self._publish(reply(b"message", BEGINS, text))

    def give_up(self) -> None:
        """Say that the failover has failed."""
        channel, text = GIVEN_UP + b"slave-timeout", b"master main 127.0.0.1 %d" % self.master
        self._publish(reply(b"pmessage", GIVEN_UP + b"*", channel, text))

    def _publish(self, message: bytes) -> None:
        for listener in tuple(self.listeners):
            with contextlib.suppress(OSError):
                listener.sendall(message)

    def hang_up(self) -> None:
        """Close the connections of all listeners."""
        for listener in tuple(self.listeners):
            self.listeners.discard(listener)
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
