"""A private Redis server that runs as long as the process that started it.

The URL ``embedded://`` starts a server that keeps its data in memory. ``embedded://some/dir`` (relative),
``embedded:///abs/dir`` and ``embedded://~/dir`` (in the home) start one that keeps its data in a directory, or join the
server that another process of the same user runs there; it stops when its last user has ended. ``?port=0`` (any free
port) or ``?port=6400`` uses TCP with a password instead of a unix socket.
"""

import logging
import os
import threading
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from bullrush.embedded.directory import DirectoryInUseError, JoinedServer, join
from bullrush.embedded.left import left_directories
from bullrush.embedded.neighbours import private_servers
from bullrush.embedded.server import EmbeddedRedis

__all__ = ["EmbeddedRedis", "left_directories", "resolve"]

_SCHEME = "embedded"
_log = logging.getLogger("bullrush")

_servers: dict[tuple[str, int | None], EmbeddedRedis | JoinedServer] = {}
_lock = threading.Lock()


def resolve(url: str) -> str:
    """Return a URL for any Redis client.

    An ``embedded://`` URL starts or joins a server; other URLs are returned as they are.

    The same embedded URL is one server for the whole process and its forked children, which share the server and never
    stop it.

    Args:
        url: a connection URL.

    Returns:
        A ``unix://`` or ``redis://`` URL, which other processes of this user can use, too. That of a server on a port
        has its password.

    Raises:
        ValueError: the ``embedded://`` URL has an option other than ``port``.
        RuntimeError: no server binary was found, the server did not start, that of the directory listens on another
            port, or the directory is another user's.
    """
    parts = urlsplit(url)
    if parts.scheme != _SCHEME:
        return url
    options = parse_qs(parts.query)
    port = int(options.pop("port", ["-1"])[0])
    if options:
        raise ValueError(f"embedded:// knows only the option 'port', got {', '.join(sorted(options))}")
    path = unquote(parts.netloc + parts.path)
    # No shell has replaced a ~ in the middle of a word.
    directory = os.path.abspath(os.path.expanduser(path)) if path else ""
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
        server = EmbeddedRedis(port=port)
        if others := private_servers(beside=server.url):
            _log.warning(
                "embedded:// has started a server that only this process and its children see. %d other %s of this "
                "machine with embedded://, too, and %s jobs are not here. To share jobs, give all of them the same "
                "directory: embedded://DIR",
                others,
                "process runs one" if others == 1 else "processes run one each",
                "its" if others == 1 else "their",
            )
        return server
    data = Path(directory)
    if joined := join(data, port):
        return joined
    try:
        return EmbeddedRedis(data, port=port)
    except DirectoryInUseError:  # another process was faster
        if joined := join(data, port):
            return joined
        raise


def _renew_lock() -> None:
    """Replace the lock in a forked child, since another thread of the parent may have held it."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
