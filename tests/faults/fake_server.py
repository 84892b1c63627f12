"""A fake Redis of another version, since such a server cannot be installed everywhere."""

import socketserver

from .resp import commands
from .threaded_server import ThreadedServer


class _Answers(socketserver.BaseRequestHandler):
    server: "FakeServer"

    def handle(self) -> None:
        buffer = b""
        while data := self.request.recv(65536):
            buffer += data
            done = 0
            for command, end in commands(buffer):
                self.request.sendall(self.server.answer(command))
                done = end
            buffer = buffer[done:]


class FakeServer(ThreadedServer):
    """Reports a version and records every command that would have touched a key."""

    def __init__(self, version: str) -> None:
        self.touched: list[bytes] = []
        self._version = version
        super().__init__(_Answers)

    def answer(self, command: list[bytes]) -> bytes:
        if command[0].upper() == b"INFO":
            text = f"# Server\r\nredis_version:{self._version}\r\n".encode()
            return b"$%d\r\n%s\r\n" % (len(text), text)
        if command[0].upper() == b"ECHO":
            return b"$%d\r\n%s\r\n" % (len(command[1]), command[1])
        if command[0].upper() not in (b"CLIENT", b"SCRIPT"):
            self.touched.append(command[0])
        return b"+OK\r\n"
