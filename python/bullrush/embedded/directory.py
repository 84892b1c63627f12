"""A directory with data: at most one server writes there, says where it is, and runs until its last user is gone.

The server holds a lock on ``.lock`` for as long as it lives, and that file names its pid and URL. Who uses the server of another
process holds a shared lock on ``.users``; the supervisor takes that lock for itself before it stops the server. The kernel
frees both locks however a process ends. Windows has no such locks: there a directory belongs to one process by agreement.
"""

import os
import time
import weakref
from pathlib import Path
from typing import NamedTuple

from bullrush.embedded.probe import wait_until_ready

if os.name != "nt":
    import fcntl

USERS = ".users"
_LOCK = ".lock"
_SECONDS_TO_START = 15.0
_SECONDS_TO_STOP = 2.0  # the server of a process that has just died may still be writing


class Running(NamedTuple):
    """Where the server of a directory is."""

    pid: int
    url: str


class DirectoryInUseError(RuntimeError):
    """Another server writes to the directory."""

    def __init__(self, data: Path, running: Running | None) -> None:
        server = f"the server at {running.url} (pid {running.pid})" if running else "a server that has just begun"
        super().__init__(f"{data} is in use by {server}: use that URL, or embedded://{data}, which joins it")


class JoinedServer:
    """The server of another process, which runs at least until this process ends or calls ``stop()``."""

    def __init__(self, data: Path, running: Running, users: int) -> None:
        self.pid, self.url = running
        self._data = data
        self._leave = weakref.finalize(self, os.close, users)
        _joined.add(self)

    def __repr__(self) -> str:
        return f"JoinedServer({self.url})"

    @property
    def alive(self) -> bool:
        """True while the server runs."""
        return _held(self._data) and read(self._data) == (self.pid, self.url)

    def stop(self) -> None:
        """Leave the server: it stops when nobody else uses it."""
        self._leave()


def lock(data: Path) -> list[int]:
    """Lock a directory for a new server, which inherits the descriptors.

    Raises:
        DirectoryInUseError: another server has it.
    """
    if os.name == "nt":
        return []
    before = read(data)
    descriptor = os.open(data / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
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
    """Say where the server of a locked directory is."""
    if os.name != "nt":
        (data / _LOCK).write_text(f"{pid} {url}\n")


def read(data: Path) -> Running | None:
    """Return what the directory says of its last server, running or not."""
    try:
        pid, _, url = (data / _LOCK).read_text().rstrip().partition(" ")
    except OSError:
        return None
    return Running(int(pid), url) if pid.isdigit() and url else None


def join(data: Path, port: int | None) -> JoinedServer | None:
    """Return the server that runs in a directory, None when there is none.

    Raises:
        DirectoryInUseError: it does not listen on the wanted ``port``.
        RuntimeError: it does not answer.
    """
    deadline = time.monotonic() + _SECONDS_TO_START
    while _held(data):
        users = os.open(data / USERS, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            # From here on the server will not be stopped; one that is being stopped refuses this lock.
            if _flock(users, fcntl.LOCK_SH) and (running := read(data)) and _ready(data, running, port):
                return JoinedServer(data, running, os.dup(users))
        finally:
            os.close(users)
        if time.monotonic() > deadline:
            raise DirectoryInUseError(data, read(data))
        time.sleep(0.02)
    return None


def _ready(data: Path, running: Running, port: int | None) -> bool:
    """Wait until a server answers; False when it has ended."""
    if port is not None and not running.url.startswith(f"redis://127.0.0.1:{f'{port}/' if port else ''}"):
        raise DirectoryInUseError(data, running)
    try:
        wait_until_ready(running.url, lambda: not _held(data))
    except ConnectionError as error:
        if _held(data):
            raise RuntimeError(f"the server of {data} at {running.url} (pid {running.pid}): {error}") from error
        return False
    return True


def _held(data: Path) -> bool:
    if os.name == "nt":
        return False
    try:
        descriptor = os.open(data / _LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _flock(descriptor: int, kind: int) -> bool:
    """Lock a file that nobody has locked otherwise."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_joined: "weakref.WeakSet[JoinedServer]" = weakref.WeakSet()


def _disown() -> None:
    """Close a child's copies of the locks: only the process that joined keeps a server running."""
    for server in list(_joined):
        server.stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)
