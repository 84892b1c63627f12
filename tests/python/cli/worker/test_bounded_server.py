"""What strangers can take of a worker over ``--health-port``: a few connections, seconds and kilobytes."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from bullrush.cli.worker import bounded_server
from bullrush.cli.worker.bounded_server import BoundedHandler, BoundedServer
from bullrush.cli.worker.command import _address
from tests.waiting import wait_until

from .conftest import Start
from .health import address, page


class Hello(BoundedHandler):
    def do_GET(self) -> None:  # noqa: N802
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")


@pytest.fixture
def connect() -> Iterator[Callable[[], socket.socket]]:
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(BoundedServer(("127.0.0.1", 0), Hello))
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        opened.callback(thread.join)
        opened.callback(server.shutdown)
        yield lambda: opened.enter_context(socket.create_connection(server.server_address[:2], timeout=20))


def answer(connection: socket.socket) -> bytes:
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            received += part
    return received


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("8000", ("127.0.0.1", 8000)),
        (":8000", ("127.0.0.1", 8000)),
        ("0.0.0.0:8000", ("0.0.0.0", 8000)),
        ("[::]:8000", ("::", 8000)),
    ],
)
def test_only_this_machine_sees_the_pages_unless_an_address_is_given(given: str, meant: tuple[str, int]) -> None:
    assert _address(given) == meant


def test_250_slow_clients_take_32_descriptors_and_keep_no_probe_out(start: Start) -> None:
    command = start("jobs:blocking", "--health-port", "0")
    wait_until(lambda: page(command, "/healthz")[0] == 200)
    worker = psutil.Process(command.process.pid)
    descriptors, threads = worker.num_fds(), worker.num_threads()
    with contextlib.ExitStack() as held:
        for _ in range(250):
            slow = held.enter_context(socket.create_connection(address(command), timeout=20))
            slow.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        assert page(command, "/healthz")[0] == 200
        wait_until(lambda: worker.num_fds() - descriptors <= 32)
        assert worker.num_threads() - threads <= 32


def test_a_request_that_drips_is_ended_in_its_time(
    connect: Callable[[], socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_server, "_SECONDS", 0.2)
    slow = connect()
    slow.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
    slow.settimeout(0.01)
    ended = time.monotonic() + 20
    while time.monotonic() < ended:
        try:
            slow.sendall(b"a")
            assert slow.recv(100) == b"", "an answer to half a request"
            return
        except TimeoutError:
            continue
        except OSError:
            return
    pytest.fail("it goes on for ever")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.0\r\n\r\n", b"200"),
        (b"GET / HTTP/1.1\nHost: h\n\n", b"200"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 9000, b"431"),
        (b"GET /" + b"a" * 9000, b"431"),
        (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 200 + b"\r\n", b"431"),
        (b"nothing\r\n\r\n", b"400"),
    ],
)
def test_a_request_has_8_kilobytes(connect: Callable[[], socket.socket], request_: bytes, status: bytes) -> None:
    client = connect()
    # The last bytes of those that are too long are not read, so nothing but the answer must be on the way.
    client.sendall(request_[:8192])
    assert status in answer(client).split(b"\r\n")[0]


def test_half_a_request_gets_no_page(connect: Callable[[], socket.socket]) -> None:
    client = connect()
    client.sendall(b"GET / HTTP/1.0\r\nX: a")
    client.shutdown(socket.SHUT_WR)
    assert answer(client) == b""
