"""A fake Redis of another version, since such a server cannot be installed everywhere."""

import socketserver
import threading

from .proxy import commands


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


class FakeServer(socketserver.ThreadingTCPServer):
    """Reports a version and records every command that would have touched a key."""

    daemon_threads = True

    def __init__(self, version: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.url = f"redis://127.0.0.1:{self.server_address[1]}/0"
        self.touched: list[bytes] = []
        self._version = version
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        self._thread.start()

    def __exit__(self, *_exception: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def answer(self, command: list[bytes]) -> bytes:
        if command[0].upper() == b"INFO":
            text = f"# Server\r\nredis_version:{self._version}\r\n".encode()
            return b"$%d\r\n%s\r\n" % (len(text), text)
        if command[0].upper() not in (b"CLIENT", b"SCRIPT"):
            self.touched.append(command[0])
        return b"+OK\r\n"
