"""A terminal with a shell in it, as a reader of the tutorial has."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pexpect

#: The shell tells the exit code of each command before its next prompt.
_ENDED = "ended with code"


class Terminal(pexpect.spawn):
    """A shell in a real terminal of 160 columns."""

    def __init__(self, folder: Path) -> None:
        # Nothing of the environment in which the tests run is to help, or to be in the way.
        kept = {
            name: os.environ[name]
            for name in os.environ
            if not name.startswith(("BULLRUSH", "REDIS", "PYTHON", "VIRTUAL_ENV"))
        }
        environment = {
            **kept,
            "TERM": "xterm",
            "NO_COLOR": "1",
            "PS1": f"{_ENDED} $?\\n",
            "VIRTUAL_ENV_DISABLE_PROMPT": "1",
        }
        super().__init__(
            "bash", ["--norc", "--noprofile"], cwd=str(folder), env=environment, encoding="utf-8", timeout=90,
            dimensions=(50, 160), echo=False,
        )  # fmt: skip
        self.ends()

    def run(self, command: str, code: int = 0) -> str:
        """Type a command, wait for its end, and return what it has shown."""
        self.start(command)
        return self.ends(code)

    def start(self, command: str) -> None:
        """Type a command that runs on."""
        self.sendline(command)

    def ends(self, code: int = 0) -> str:
        """Wait for the end of the command, and return what it has shown."""
        self.expect(f"{_ENDED} (\\d+)")
        shown = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", str(self.before)).replace("\r", "")
        assert int(self.match.group(1)) == code, shown
        return shown

    def sees(self, text: str) -> str:
        """Wait until this text is on the screen, and return what was before it."""
        self.expect_exact(text)
        return str(self.before)
