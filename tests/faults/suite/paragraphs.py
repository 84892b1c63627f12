"""Wraps the paragraphs and list items of a page in Markdown. Tables, headings, pictures and code stay as they are."""

import re
import textwrap
from collections.abc import Iterator

COLUMNS = 120
_MARKER = re.compile(r"(?:[-*]|\d+\.) ")
_FENCE = "```"


def wrapped(page: str) -> str:
    """Return a page whose paragraphs end at 120 columns."""
    return "\n".join(_lines(page))


def _lines(page: str) -> Iterator[str]:
    paragraph: list[str] = []
    is_code = False
    for line in page.split("\n"):
        is_fence = line.startswith(_FENCE)
        is_text = line.strip() and not is_code and not is_fence and not line.startswith(("|", "#", "!["))
        if not is_text or _MARKER.match(line):
            yield from _filled(paragraph)
            paragraph = []
        if is_text:
            paragraph.append(line.strip())
        else:
            yield line
        is_code ^= is_fence
    yield from _filled(paragraph)


def _filled(paragraph: list[str]) -> list[str]:
    text = " ".join(paragraph)
    marker = _MARKER.match(text)
    indent = " " * marker.end() if marker else ""
    return textwrap.wrap(text, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
