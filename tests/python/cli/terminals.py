"""A command in a real terminal."""

import os
import re
import sys
from collections.abc import Sequence

import pexpect


class Terminal(pexpect.spawn):
    """A command in a real terminal of 160 columns."""

    def __init__(self, *words: object, program: Sequence[str] = ("-m", "bullrush"), echo: bool = True) -> None:
        super().__init__(
            sys.executable,
            [*program, *map(str, words)],
            env={**os.environ, "TERM": "xterm", "COLUMNS": "160", "NO_COLOR": "1"},
            encoding="utf-8",
            timeout=60,
            dimensions=(50, 160),
            echo=echo,
        )

    def sees(self, text: str) -> str:
        """Wait until this text is on the screen, and return what was before it."""
        self.expect_exact(text)
        return str(self.before)

    def ended(self) -> tuple[int, str]:
        """Wait for the end, and return the exit code and the rest of the screen without control sequences."""
        self.expect(pexpect.EOF)
        self.close()
        assert self.exitstatus is not None, f"ended by signal {self.signalstatus}"
        return self.exitstatus, plain(str(self.before))


def plain(screen: str) -> str:
    """Return what a terminal shows without control sequences."""
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", screen).replace("\r", "")


#: Runs one command after the other.
SHELL = """
import shlex
from bullrush.cli import main
while True:
    words = shlex.split(input())
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    print("exit code", code)
"""
