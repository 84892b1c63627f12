"""A private, real Redis server that lives and dies with the process that started it.

``embedded://`` in a connection URL starts one in memory, ``embedded://some/dir`` (relative) or ``embedded:///abs/dir`` one
that keeps its data there, or joins the one that another process of the same user runs there: that one stops when its last
user is gone. ``?port=0`` (any free port) or ``?port=6400`` asks for TCP instead of a unix socket.
"""

import os
import threading
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from bullrush.embedded.directory import DirectoryInUseError, JoinedServer, join
from bullrush.embedded.server import EmbeddedRedis

__all__ = ["EmbeddedRedis", "resolve"]

_SCHEME = "embedded"

_servers: dict[tuple[str, int | None], EmbeddedRedis | JoinedServer] = {}
_lock = threading.Lock()


def resolve(url: str) -> str:
    """Return a URL that any Redis client can open, starting or joining a server when ``url`` is an ``embedded://`` one.

    The same embedded URL names one server for the whole process, also for the children it forks: they share the server and
    never stop it. Any other URL is returned as it is.

    Args:
        url: a connection URL.

    Returns:
        A ``unix://`` or ``redis://`` URL, valid for other processes of this machine too.

    Raises:
        ValueError: an ``embedded://`` URL with an option other than ``port``.
        RuntimeError: no server binary was found, the server did not start, or the one that runs in the directory does not
            listen on the wanted port.
    """
    parts = urlsplit(url)
    if parts.scheme != _SCHEME:
        return url
    options = parse_qs(parts.query)
    port = int(options.pop("port", ["-1"])[0])
    if options:
        raise ValueError(f"embedded:// knows only the option 'port', got {', '.join(sorted(options))}")
    path = unquote(parts.netloc + parts.path)
    directory = os.path.abspath(path) if path else ""
    key = (directory, None if port < 0 else port)
    with _lock:
        server = _servers.get(key)
        if server is None or not server.alive:
            if server is not None:
                server.stop()
            server = _servers[key] = _start_or_join(directory, key[1])
        return server.url


def _start_or_join(directory: str, port: int | None) -> EmbeddedRedis | JoinedServer:
    if not directory:
        return EmbeddedRedis(port=port)
    data = Path(directory)
    if joined := join(data, port):
        return joined
    try:
        return EmbeddedRedis(data, port=port)
    except DirectoryInUseError:  # another process was quicker
        if joined := join(data, port):
            return joined
        raise


def _renew_lock() -> None:
    """Replace a lock that another thread of the parent may have held while it forked."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
