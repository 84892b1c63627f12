"""A page of the documentation as somebody follows it: its files and its commands."""

from __future__ import annotations

import re
from pathlib import Path

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)


class Page:
    """Hands out the files and commands of a page, and knows which ones nobody asked for."""

    def __init__(self, page: Path, ports: dict[str, int]) -> None:
        """Read a page.

        Args:
            page: the file.
            ports: what to write for ports of the page, since others may use them here.
        """
        text = page.read_text()
        for port, free in ports.items():
            text = text.replace(port, str(free))
        blocks = _BLOCK.findall(text)
        self._files = [(title, code) for _, title, code in blocks if title]
        lines = [line for kind, _, code in blocks if kind == "sh" for line in code.splitlines()]
        #: Those without the ones of each terminal, which are twice on the page.
        self._commands = [line.partition("   #")[0].rstrip() for line in lines]

    def command(self, beginning: str) -> str:
        """Take the next command that begins like this."""
        found = next(command for command in self._commands if command.startswith(beginning))
        self._commands.remove(found)
        return found

    def write(self, title: str, folder: Path) -> None:
        """Do what the next block of this title says: a whole file, its end, or the lines that change."""
        found = next(block for block in self._files if block[0] == title)
        self._files.remove(found)
        file = folder / title.partition(",")[0]
        if "at its end" in title:
            file.write_text(f"{file.read_text()}\n\n{found[1]}")
        elif file.exists():
            old, new = (
                "".join(line[1:] + "\n" for line in found[1].splitlines() if line[0] == sign) for sign in ("-", "+")
            )
            assert file.read_text().count(old) == 1, found[1]
            file.write_text(file.read_text().replace(old, new))
        else:
            file.write_text(found[1])

    @property
    def left(self) -> list[str]:
        """What nobody has asked for."""
        return [*self._commands, *(title for title, _ in self._files)]
