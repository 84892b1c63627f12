"""Writes the table of bullrush's own keys in docs/interop.md: ``make configuration``. It reads the core's key table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from bullrush._core import QUEUE_KEYS

PAGE: Final = Path(__file__).parents[1] / "interop.md"
_TABLE: Final = re.compile(r"(<!-- keys -->\n\n).*?(\n<!-- end -->)", re.DOTALL)
_TYPES: Final = {"zset": "sorted set"}


def page(text: str) -> str:
    """Return the text of the page with the table as it should be."""
    rows = [
        (f"`{key.name}`", _TYPES.get(key.kind, key.kind), key.content, key.writer, key.life)
        for key in QUEUE_KEYS
        if key.owner == "bullrush"
    ]
    lines = [
        "| key | type | what is in it | who writes it | lives |",
        "|-|-|-|-|-|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
    return _TABLE.sub(lambda match: match[1] + "\n".join(lines) + "\n" + match[2], text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
