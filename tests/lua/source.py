"""The Lua scripts as they are sent to the server."""

import re
from collections.abc import Iterator
from pathlib import Path

LUA = Path(__file__).resolve().parents[2] / "lua"
INCLUDE = re.compile(r"^ *--- @include (\w+)\s*$")


def flatten(script: str) -> str:
    """Resolve the include lines of ``script`` ("add/add_jobs") the way the build does."""
    return "\n".join(_lines_of(LUA / f"{script}.lua", set())) + "\n"


def _lines_of(path: Path, included: set[str]) -> Iterator[str]:
    blocks = [(0, included)]
    for line in path.read_text(encoding="utf-8").splitlines():
        indent = len(line) - len(line.lstrip())
        while line and indent < blocks[-1][0]:
            blocks.pop()
        found = INCLUDE.match(line)
        if not found:
            if line.strip() and not line.lstrip().startswith("--"):
                yield line
            continue
        if indent > blocks[-1][0]:
            blocks.append((indent, set(blocks[-1][1])))
        if found[1] not in blocks[-1][1]:
            blocks[-1][1].add(found[1])
            [file] = (LUA / "include").rglob(f"{found[1]}.lua")
            yield from _lines_of(file, blocks[-1][1])
