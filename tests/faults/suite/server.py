"""One server process of the suite: started, killed, suspended and started again at the same port with its data."""

import os
import resource
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from redis import Redis, RedisError

from bullrush.embedded.binary import find_server
from tests.driver.spawn import spawn
from tests.waiting import wait_until

from .clock import Clock

#: The name of the suite's own connections, which no fault ends.
DRIVER = "driver"


class Server:
    """A ``redis-server`` that writes to disk before it acknowledges: what it acknowledged survives a kill."""

    def __init__(self, folder: Path, port: int, args: Sequence[str] = (), *, clock: Clock | None = None) -> None:
        self.binary, self.version = find_server()
        self.port = port
        self.folder = folder
        self._args = list(args)
        self._clock = clock
        self.folder.mkdir(parents=True, exist_ok=True)
        # It must not wait long for a suspended server.
        self.client = Redis(
            port=port, decode_responses=True, socket_timeout=20, socket_connect_timeout=2, client_name=DRIVER
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, *, wait: bool = True) -> None:
        """Start it, if it does not run, and wait until it answers."""
        if self.alive:
            return
        with open(self.folder / "server.log", "ab") as log:
            environment = {**os.environ, **(self._clock.environment if self._clock else {})}
            # Without restored signals: it then gets an error, not SIGXFSZ, when a file may not grow.
            how = {"stdout": log, "stderr": log, "cwd": self.folder, "env": environment, "restore_signals": False}
            self._process = spawn([self.binary, *self._options()], **how)
        if wait:
            wait_until(self.answers, f"{self} answers", seconds=120, pause=0.01)

    def _options(self) -> list[str]:
        options = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(self.folder),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
            # A log of all that ever happened takes long to load.
            "auto-aof-rewrite-min-size": "16mb",
            "daemonize": "no",
            "maxmemory-policy": "noeviction",
            "repl-diskless-sync": "yes",
            "repl-diskless-sync-delay": "0",
            # With 1 MB, the default, a replica that loses its link after a full copy needs another one, again and
            # again.
            "repl-backlog-size": "64mb",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        return [*words, *self._args]

    def answers(self) -> bool:
        """Return whether it has loaded its data and answers."""
        try:
            return bool(self.client.ping())
        except RedisError:
            return False

    def kill(self) -> None:
        """End it like a crash."""
        if self._process:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
        self.client.connection_pool.disconnect(
            inuse_connections=False
        )  # other threads see by themselves that it has ended

    def shut_down(self) -> None:
        """Ask it to end."""
        assert self._process
        self._process.terminate()
        self._process.wait(30)
        self.client.connection_pool.disconnect(
            inuse_connections=False
        )  # other threads see by themselves that it has ended

    def suspend(self) -> None:
        """Stop it like a suspended machine, until `go_on`."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        if self.alive:
            os.kill(self.pid, signal.SIGCONT)

    def limit_files(self, size: int | None) -> None:
        """Let no file of it grow beyond this size, as if the disk were full; None lifts the limit."""
        most = resource.RLIM_INFINITY if size is None else size
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    def log_size(self) -> int:
        """Return the size of the largest file of its data."""
        return max((path.stat().st_size for path in self.folder.rglob("*") if path.is_file()), default=0)

    def said(self) -> str:
        """Return the end of its log."""
        log = self.folder / "server.log"
        return log.read_text(errors="replace")[-1000:] if log.exists() else ""

    def role(self) -> str | None:
        """Return ``master`` or ``slave``, None if it does not answer."""
        try:
            return str(self.client.info("replication")["role"])
        except RedisError:
            return None

    def __repr__(self) -> str:
        return f"redis-server on port {self.port}"


def raw(client: Redis, *words: Any) -> Any:
    """Run a command whose refusal is of no interest: the fault is made as far as it can be made."""
    with suppress(RedisError, OSError, ValueError):
        return client.execute_command(*words)
    return None
