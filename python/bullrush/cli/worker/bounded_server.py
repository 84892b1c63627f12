"""An HTTP server that strangers may reach: what they can take of the process has limits."""

from __future__ import annotations

import contextlib
import io
import logging
import socket
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

_log: Final = logging.getLogger("bullrush.worker")
#: Connections at the same time: each is a descriptor and a thread of the worker.
_CONNECTIONS: Final = 32
#: Seconds for a whole request, from its connection on, and then for its whole answer.
_SECONDS: Final = 5.0
#: Bytes of a request with its headers.
_LONGEST: Final = 8192
_ENDS: Final = (b"\r\n\r\n", b"\n\n")


class BoundedServer(ThreadingHTTPServer):
    """Answers each connection on a thread of its own, and has at most 32 connections.

    A further one takes the place of the one whose request has been on its way for longest: slow clients keep nobody
    out. Connections that are not accepted yet take no descriptor of this process.
    """

    # Clients that come together; the standard is 5, and the kernel lets those beyond wait for a second.
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], handler: type[BoundedHandler]) -> None:
        self.address_family: socket.AddressFamily = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._places = threading.Semaphore(_CONNECTIONS)
        #: Connections whose request is on its way, the oldest first.
        self._receiving: dict[socket.socket, None] = {}
        # A connection is shut down only with this lock, and closed only when it is no longer in `_receiving`: its
        # descriptor may be another one's after that.
        self._lock = threading.Lock()
        super().__init__(address, handler)

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection as soon as there is a place for it."""
        if not self._places.acquire(blocking=False):
            self._end_slowest()
            self._places.acquire()
        try:
            connection, address = super().get_request()
        except OSError:
            self._places.release()
            # The process may have no descriptor left: the next call comes at once, and fails as well.
            time.sleep(0.05)
            raise
        with self._lock:
            self._receiving[connection] = None
        return connection, address

    def received(self, connection: socket.socket) -> None:
        """Note that the whole request of a connection has come: it keeps its place until it is answered."""
        with self._lock:
            self._receiving.pop(connection, None)

    def close_request(self, request: Any) -> None:
        """Close a connection, and give its place to another one."""
        self.received(request)
        super().close_request(request)
        self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Log an error of a page. A connection that broke is no error."""
        if not isinstance(sys.exc_info()[1], OSError):
            _log.exception("A request of %s got no answer", client_address[0])

    def _end_slowest(self) -> None:
        with self._lock, contextlib.suppress(OSError):  # it has just ended
            if connection := next(iter(self._receiving), None):
                del self._receiving[connection]
                # The thread that reads it sees its end, and closes it.
                connection.shutdown(socket.SHUT_RDWR)


class BoundedHandler(BaseHTTPRequestHandler):
    """Answers one request, which has 5 s and 8 KiB."""

    server: BoundedServer

    def version_string(self) -> str:
        """Return the header ``Server``: without the version of Python."""
        return "bullrush"

    def handle(self) -> None:
        """Read a request and answer it."""
        request = self._receive()
        self.server.received(self.connection)
        self.connection.settimeout(_SECONDS)
        if _is_whole(request):
            self.rfile: io.BufferedIOBase = io.BytesIO(request)
            self.handle_one_request()
        elif len(request) == _LONGEST:
            self.requestline = self.request_version = self.command = ""
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _receive(self) -> bytes:
        """Return the line and the headers of the request, or as much as came.

        Raises:
            TimeoutError: it took too long.
        """
        # The timeout of a socket is for one call: who sends a byte each second would keep the connection for hours.
        deadline = time.monotonic() + _SECONDS
        request = b""
        while len(request) < _LONGEST and not _is_whole(request):
            self.connection.settimeout(max(deadline - time.monotonic(), 0.001))
            part = self.connection.recv(_LONGEST - len(request))
            if not part:
                break
            request += part
        return request

    def log_message(self, format: str, *args: object) -> None:
        """Log a request."""
        _log.debug("%s " + format, self.client_address[0], *args)


def _is_whole(request: bytes) -> bool:
    return any(end in request for end in _ENDS)
