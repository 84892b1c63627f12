"""A Node process that runs real BullMQ for the tests; commands and replies are JSON lines."""

import json
import signal
import subprocess
from itertools import count
from pathlib import Path
from typing import Any

INTEROP = Path(__file__).parents[1]
PROGRAMS = INTEROP / "node"


class NodeError(Exception):
    """An error thrown inside Node; carries BullMQ's ``code`` when it has one."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.name: str = error["name"]
        self.code: int | None = error.get("code")
        self.node_stack: str = error.get("stack", "")


class NodeProcess:
    """A driver process for one library: that of a peer (`peers.py`), or ``bull1`` ... with ``bull.js``."""

    def __init__(self, library: str, redis_url: str, program: str = "driver.js") -> None:
        self.library = library
        package = INTEROP / "node_modules" / library / "package.json"
        self.version: str = json.loads(package.read_text())["version"]
        self._ids = count(1)
        self._process = subprocess.Popen(
            ["node", str(PROGRAMS / program), library, redis_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        assert self._read() == {"ready": True}

    @property
    def major(self) -> int:
        """The major version of the library."""
        return int(self.version.partition(".")[0])

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def call(self, op: str, **args: Any) -> Any:
        """Run one command and return its value.

        Raises:
            NodeError: BullMQ, or the driver itself, threw.
        """
        identifier = next(self._ids)
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"id": identifier, "op": op, **args}) + "\n")
        self._process.stdin.flush()
        reply = self._read()
        assert reply["id"] == identifier, reply
        if "error" in reply:
            raise NodeError(reply["error"])
        return reply["value"]

    def kill(self) -> None:
        """End the process like a crash: SIGKILL, nothing is flushed or closed."""
        self._process.send_signal(signal.SIGKILL)
        self._finish()

    def close(self) -> None:
        """End the process by closing its input."""
        self._finish()

    def _finish(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the {self.library} driver ended with code {self._process.wait()}")
        reply: dict[str, Any] = json.loads(line)
        return reply
