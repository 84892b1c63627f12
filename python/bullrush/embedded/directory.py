"""A data directory: at most one server writes to it, and it runs until its last user has ended.

The server holds a lock on ``.lock`` while it runs; this file has its pid and URL. A process that uses the server of
another process holds a shared lock on ``.users``; the supervisor takes this lock exclusively before it stops the
server. The kernel releases both locks when a process ends, in whatever way. Windows has no such locks: there only one
process may use a directory.

Who can write to these files can lead programs to a server of their own, so each is opened as a private file.
"""

import os
import secrets
import time
import weakref
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from bullrush.embedded.private import make_private, open_private
from bullrush.embedded.probe import wait_until_ready
from bullrush.masking import masked

if os.name != "nt":
    import fcntl

USERS = ".users"
LOCK = ".lock"
_PASSWORD = ".password"
_SECONDS_TO_START = 15.0
_SECONDS_TO_STOP = 2.0  # the server of a process that has just ended may still write


class Running(NamedTuple):
    """The server of a directory: its process id and its URL."""

    pid: int
    url: str


class DirectoryInUseError(RuntimeError):
    """Another server writes to the directory."""

    def __init__(self, data: Path, running: Running | None) -> None:
        server = (
            f"the server at {masked(running.url)} (pid {running.pid})" if running else "a server that has just started"
        )
        super().__init__(f"{data} is in use by {server}: use that URL, or embedded://{data}, which joins it")


class JoinedServer:
    """The server of another process. It runs at least until this process ends or calls ``stop()``."""

    pid: int
    url: str

    def __init__(self, data: Path, running: Running, users: int) -> None:
        self.pid, self.url = running
        self._data = data
        self._leave = weakref.finalize(self, os.close, users)
        _joined.add(self)

    def __repr__(self) -> str:
        return f"JoinedServer({masked(self.url)})"

    @property
    def alive(self) -> bool:
        """True while the server runs."""
        return is_locked(self._data) and read(self._data) == (self.pid, self.url)

    def stop(self) -> None:
        """Stop using the server. It stops when no other process uses it."""
        self._leave()


def prepare(data: Path) -> None:
    """Make a directory that only this user may use.

    Raises:
        NotPrivateError: it is another user's, or others may have written to it.
    """
    make_private(data, LOCK)


def password(data: Path) -> str:
    """Return the password for a port: it stays the same, so that programs find the next server of the directory."""
    with open(open_private(data / _PASSWORD, os.O_RDWR | os.O_CREAT), "r+") as file:
        found = file.read().strip()
        if not found:
            found = secrets.token_urlsafe(32)
            file.write(found + "\n")
        return found


def lock(data: Path) -> list[int]:
    """Lock a directory for a new server, which inherits the descriptors.

    Raises:
        DirectoryInUseError: another server has it.
    """
    if os.name == "nt":
        return []
    before = read(data)
    descriptor = open_private(data / LOCK, os.O_RDWR | os.O_CREAT)
    deadline = time.monotonic() + _SECONDS_TO_STOP
    while not _flock(descriptor, fcntl.LOCK_EX):
        running = read(data)
        if time.monotonic() > deadline or (running and running != before):
            os.close(descriptor)
            raise DirectoryInUseError(data, running)
        time.sleep(0.02)
    os.ftruncate(descriptor, 0)
    return [descriptor]


def announce(data: Path, pid: int, url: str) -> None:
    """Write the pid and the URL of the server of a locked directory."""
    if os.name != "nt":
        with open(open_private(data / LOCK, os.O_WRONLY | os.O_TRUNC), "w") as file:
            file.write(f"{pid} {url}\n")


def read(data: Path) -> Running | None:
    """Return the last server of a directory, which may have ended."""
    try:
        with open(open_private(data / LOCK, os.O_RDONLY)) as file:
            pid, _, url = file.read().rstrip().partition(" ")
    except OSError:
        return None
    return Running(int(pid), url) if pid.isdigit() and url else None


def join(data: Path, port: int | None) -> JoinedServer | None:
    """Return the running server of a directory, None if there is none.

    Raises:
        DirectoryInUseError: the server does not listen on ``port``.
        NotPrivateError: the directory is another user's, or others may have written to it.
        RuntimeError: the server does not answer.
    """
    if data.exists():
        prepare(data)
    deadline = time.monotonic() + _SECONDS_TO_START
    while is_locked(data):
        users = open_private(data / USERS, os.O_RDWR | os.O_CREAT)
        try:
            # With this lock the server will not be stopped. If it is being stopped, the lock is refused.
            if _flock(users, fcntl.LOCK_SH) and (running := read(data)) and _ready(data, running, port):
                return JoinedServer(data, running, os.dup(users))
        finally:
            os.close(users)
        if time.monotonic() > deadline:
            raise DirectoryInUseError(data, read(data))
        time.sleep(0.02)
    return None


def _ready(data: Path, running: Running, port: int | None) -> bool:
    """Wait until a server answers; False if it has ended."""
    listening = urlsplit(running.url).port
    if port is not None and (listening is None or port not in {0, listening}):
        raise DirectoryInUseError(data, running)
    try:
        wait_until_ready(running.url, lambda: not is_locked(data))
    except ConnectionError as error:
        if is_locked(data):
            at = f"{masked(running.url)} (pid {running.pid})"
            raise RuntimeError(f"the server of {data} at {at}: {error}") from error
        return False
    return True


def is_locked(data: Path) -> bool:
    """Tell whether a server holds the lock of its directory, which it does as long as it runs."""
    if os.name == "nt":
        return False
    try:
        descriptor = open_private(data / LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _flock(descriptor: int, kind: int) -> bool:
    """Lock a file; False if another process has a lock that excludes this one."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_joined: "weakref.WeakSet[JoinedServer]" = weakref.WeakSet()


def _disown() -> None:
    """Close the inherited locks in a forked child: only the process that joined keeps the server running."""
    for server in list(_joined):
        server.stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)
