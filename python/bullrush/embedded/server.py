"""Starting, restarting, killing and stopping one private server."""

import os
import random
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO
from urllib.parse import quote

from bullrush.embedded import directory as directories
from bullrush.embedded import supervisor as program
from bullrush.embedded.binary import find_server
from bullrush.embedded.left import own
from bullrush.embedded.private import open_private
from bullrush.embedded.probe import ping, wait_until_ready
from bullrush.embedded.scratch import PREFIX, SOCKET, fits_socket, scratch_folder
from bullrush.masking import masked

_STOP_SECONDS = 15.0
#: For jemalloc, as distributions and as Redis build it, and for the C library of Linux.
_HUGE_PAGES = {
    "MALLOC_CONF": "thp:always",
    "JE_MALLOC_CONF": "thp:always",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


class EmbeddedRedis:
    """A private Redis server on a unix socket, or on a local port.

    It starts with this object. It stops with ``stop()``, at the end of the ``with`` block, when the object is
    collected, and when the process ends in any way, even by SIGKILL. It belongs to the process that made it: forked
    children can use it by its URL and cannot stop it. A server with a directory runs on while other processes have
    joined it.

    Args:
        directory: the directory for the data (an append-only file); None keeps the data in memory. It is for this user
            alone: a new or empty one gets the mode 0700.
        port: None is a unix socket (or a free port where there are no unix sockets), 0 is any free port.
        password: the password of a server on a port. None is a random one, in ``url``; that of a directory stays the
            same, in its file ``.password``. An empty one lets every user of this machine read and change the data.
        persistence: append-only file on or off; None is on if ``directory`` is given.
        huge_pages: whether the kernel may use huge pages for the data; None is yes without persistence. They make large
            queues faster, but a rewrite of the file copies more memory.
        args: more server options, such as ``["--maxmemory", "100mb"]``.

    Raises:
        RuntimeError: there is no server binary, the directory is in use (the message has the pid and URL of its
            server), it is another user's, or the server does not start (the message has its error).
        ValueError: a password without a port.
    """

    version: tuple[int, ...]
    url: str

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        port: int | None = None,
        password: str | None = None,
        persistence: bool | None = None,
        huge_pages: bool | None = None,
        args: Sequence[str] = (),
    ) -> None:
        self._binary, self.version = find_server()
        self._owner = os.getpid()
        if password and port is None:
            raise ValueError("password needs a port: only this user can reach a server on a unix socket")
        self._scratch = tempfile.mkdtemp(prefix=PREFIX, dir=scratch_folder())
        own(Path(self._scratch))
        self._directory = Path(directory) if directory is not None else None
        self._persistence = persistence if persistence is not None else directory is not None
        self._huge_pages = huge_pages if huge_pages is not None else not self._persistence
        self._args = list(args)
        self._socket = os.path.join(self._scratch, SOCKET) if port is None and fits_socket(self._scratch) else None
        self._port = port or (0 if self._socket else _free_port())
        self._password = password
        try:
            self._start()
        except BaseException:
            shutil.rmtree(self._scratch, ignore_errors=True)
            raise

    @property
    def _config_file(self) -> Path:
        return Path(self._scratch, "redis.conf")

    def __enter__(self) -> "EmbeddedRedis":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"EmbeddedRedis({masked(self.url)})"

    @property
    def alive(self) -> bool:
        """True while the server runs."""
        return self._supervisor.poll() is None if self._owner == os.getpid() else ping(self.url) == b"+PONG"

    def stop(self) -> None:
        """Stop the server and wait for its end. Persistent data is on disk then.

        While other processes use its directory through ``embedded://``, the server runs on until the last of them has
        ended. In a forked child this does nothing.
        """
        self._finalizer()

    def kill(self) -> None:
        """Kill the server with SIGKILL, like a crash. ``restart()`` starts it again."""
        self._check_owner("kill")
        os.kill(self.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        self._supervisor.wait(_STOP_SECONDS)

    def restart(self) -> None:
        """Stop the server if it runs, and start it again at the same address with its persistent data."""
        self._check_owner("restart")
        if not self._finalizer.detach():
            raise RuntimeError("this embedded server was stopped and cannot be restarted: make a new one")
        _end(self._owner, self._supervisor, b"keep")
        self._start()

    def _check_owner(self, verb: str) -> None:
        if self._owner != os.getpid():
            raise RuntimeError(f"cannot {verb} this embedded server: it belongs to process {self._owner}")

    def _start(self) -> None:
        data = self._directory or Path(self._scratch)
        directories.prepare(data)
        if self.version < (7,) and (data / "appendonlydir").exists():
            raise RuntimeError(
                f"{data} was written by Redis 7 or newer, and {self._binary} is older: it would start empty"
            )
        log = Path(self._scratch, "redis.log")
        users = str(data / directories.USERS) if self._directory else ""
        lock = directories.lock(data)
        try:
            self._protect(data)
            with open(open_private(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as stderr:
                self._supervisor = subprocess.Popen(
                    [sys.executable, "-I", "-S", program.__file__, self._scratch, users, *self._command(data)],
                    bufsize=0,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    env=_HUGE_PAGES | os.environ if self._huge_pages else None,
                    pass_fds=lock,
                    start_new_session=True,  # Ctrl-C must stop the workers, not their server
                )
        finally:
            for descriptor in lock:
                os.close(descriptor)
        _supervisors.add(self._supervisor)
        self._finalizer = weakref.finalize(self, _end, self._owner, self._supervisor, b"", self._scratch)
        try:
            assert self._supervisor.stdout
            self.pid: int = int(self._supervisor.stdout.readline() or 0)
            directories.announce(data, self.pid, self.url)
            wait_until_ready(self.url, lambda: self._supervisor.poll() is not None)
        except BaseException as error:
            output = log.read_text(errors="replace").strip().splitlines()
            self.stop()
            if isinstance(error, ConnectionError):
                raise RuntimeError(f"{self._binary} did not start: {output[-1] if output else error}") from error
            raise

    def _protect(self, data: Path) -> None:
        """Give a server on a port its password, in a file: the arguments of a process are in the list of processes."""
        if self._password is None and not self._socket:
            self._password = directories.password(data) if self._directory else secrets.token_urlsafe(32)
        login = f":{quote(self._password, safe='')}@" if self._password else ""
        self.url = f"unix://{self._socket}" if self._socket else f"redis://{login}127.0.0.1:{self._port}/0"
        with open(open_private(self._config_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w") as file:
            if self._password:
                file.write('requirepass "' + "".join(f"\\x{byte:02x}" for byte in self._password.encode()) + '"\n')

    def _command(self, data: Path) -> list[str]:
        options = {
            "port": str(self._port),
            "bind": "127.0.0.1",
            "dir": str(data),
            "save": "",
            "appendonly": "yes" if self._persistence else "no",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
            "loglevel": "warning",
            "disable-thp": "no" if self._huge_pages else "yes",
        }
        if self._socket:
            options |= {"unixsocket": self._socket, "unixsocketperm": "700"}
        return [
            self._binary,
            str(self._config_file),
            *(word for name, value in options.items() for word in (f"--{name}", value)),
            *self._args,
        ]


def _free_port() -> int:
    """Return a free port below the range of outgoing connections, none of which can take it then."""
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port
        except OSError:
            continue


def _end(owner: int, supervisor: "subprocess.Popen[bytes]", request: bytes, scratch: str | None = None) -> None:
    """Close the pipe to the supervisor and wait for its end, unless other processes use the server."""
    if owner != os.getpid():
        return
    _supervisors.discard(supervisor)
    assert supervisor.stdin
    assert supervisor.stdout
    with supervisor.stdin as pipe, suppress(BrokenPipeError):  # the server may have ended already
        pipe.write(request)
    with supervisor.stdout as output:
        if _is_shared(output):
            supervisor.returncode = 0  # the supervisor no longer belongs to this process
            return
    supervisor.wait(_STOP_SECONDS)
    if scratch:
        shutil.rmtree(scratch, ignore_errors=True)


def _is_shared(supervisor: IO[bytes]) -> bool:
    """Wait until the supervisor ends (False) or reports that other processes use its server (True)."""
    if os.name == "nt":
        return False
    with selectors.DefaultSelector() as ready:
        ready.register(supervisor, selectors.EVENT_READ)
        return bool(ready.select(_STOP_SECONDS)) and supervisor.read(len(program.SHARED)) == program.SHARED


_supervisors: "weakref.WeakSet[subprocess.Popen[bytes]]" = weakref.WeakSet()


def _disown() -> None:
    """Close the inherited pipes in a forked child: only the process that started a server keeps it running."""
    for supervisor in list(_supervisors):
        assert supervisor.stdin
        assert supervisor.stdout
        supervisor.stdin.close()
        supervisor.stdout.close()
        supervisor.returncode = 0  # no warning about a process that is not this one's child
    _supervisors.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)
