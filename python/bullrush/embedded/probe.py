"""Checks whether a server is ready, without a Redis client."""

import socket
import time
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

_START_SECONDS = 15.0
_LOAD_SECONDS = 300.0


def ping(url: str) -> bytes:
    """Return the reply of a server to PING; empty if it cannot be reached. The URL is ``unix://`` or ``redis://``."""
    try:
        with _connect(url) as connection, connection.makefile("rb") as replies:
            if password := urlsplit(url).password:
                secret = unquote(password).encode()
                connection.sendall(b"*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n" % (len(secret), secret))
                replies.readline()
            connection.sendall(b"PING\r\n")
            return replies.readline().rstrip()
    except OSError:
        return b""


def wait_until_ready(url: str, ended: Callable[[], bool]) -> None:
    """Wait until the server answers. While it loads its data, this may take longer.

    Raises:
        ConnectionError: the server ended or does not answer.
    """
    deadline = time.monotonic() + _START_SECONDS
    pause = 0.002
    while (answer := ping(url)) != b"+PONG":
        if ended():
            raise ConnectionError("it ended")
        if answer.startswith(b"-LOADING"):
            deadline = max(deadline, time.monotonic() + _LOAD_SECONDS)
        if time.monotonic() > deadline:
            raise ConnectionError(f"no answer within {_START_SECONDS:.0f} s")
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return socket.create_connection((parts.hostname, parts.port or 0), timeout=1)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(1)
    try:
        connection.connect(url.removeprefix("unix://"))
    except OSError:
        connection.close()
        raise
    return connection
