"""What commands print: JSON for programs; for people tables, times and shortened values."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone, tzinfo
from typing import Final

import orjson

from bullrush.cli.terminal.visible import visible, visible_json
from bullrush.extending import JSON

_LONGEST_CELL: Final = 60
_LONGEST_VALUE: Final = 2_000
_MINUTE: Final = 60
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", _MINUTE), ("s", 1))


def write(text: str = "") -> None:
    """Print a text for people, without what would command the terminal."""
    sys.stdout.write(visible(text) + "\n")


def say(text: str) -> None:
    """Print a line that is no result on stderr, so that it never gets into a pipe."""
    sys.stderr.write(visible(text) + "\n")


def write_json(value: JSON, *, line: bool = False) -> None:
    """Print a value as JSON, indented or on one line."""
    # ujson-like leniency is not needed: all values were JSON in Redis.
    options = orjson.OPT_APPEND_NEWLINE | (0 if line else orjson.OPT_INDENT_2)
    sys.stdout.write(visible_json(orjson.dumps(value, None, options).decode(), sys.stdout.encoding))
    if line:
        sys.stdout.flush()


def write_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: on a terminal by Rich if it is installed, else as aligned text.

    Numbers are aligned to the right. Cells are shortened to one line; a target or a profile, which is no text, is whole
    in a pipe or a file.
    """
    whole = not sys.stdout.isatty()
    texts = [[cell(value, whole=whole and not isinstance(value, str)) for value in row] for row in rows]
    numbers = [bool(rows) and all(_is_number(row[column]) for row in rows) for column in range(len(titles))]
    if sys.stdout.isatty() and _write_rich(titles, texts, numbers):
        return
    widths = [max(map(len, column)) for column in zip(titles, *texts, strict=True)]
    for row in (titles, *texts):
        aligned = zip(row, widths, numbers, strict=True)
        write("  ".join(text.rjust(width) if number else text.ljust(width) for text, width, number in aligned).rstrip())


def _write_rich(titles: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool]) -> bool:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ModuleNotFoundError:
        return False
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column, (title, number) in enumerate(zip(titles, numbers, strict=True)):
        # In a narrow terminal all others are shortened first: commands take the names and ids of the first column.
        longest = max(len(row[0]) for row in (titles, *rows)) if column == 0 else None
        table.add_column(
            title, justify="right" if number else "left", overflow="ellipsis", no_wrap=True, min_width=longest
        )
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
    return True


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def cell(value: object, *, whole: bool = False) -> str:
    """Return a value as a short text on one line; ``whole``: also if it is long."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else compact(value)
    text = "".join(letter if letter.isprintable() else " " for letter in text)
    return text if whole or len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"


def compact(value: JSON) -> str:
    """Return a value as JSON on one line."""
    return orjson.dumps(value, default=str).decode()


def shown(value: JSON, *, full: bool) -> str:
    """Return a JSON value, a text as it is. If it is long it is shortened, with a hint."""
    text = value if isinstance(value, str) else compact(value)
    if full or len(text) <= _LONGEST_VALUE:
        return text
    return f"{text[:_LONGEST_VALUE]}… ({len(text):,} characters; --full shows all)"


def write_fields(fields: Mapping[str, object]) -> None:
    """Print names and values, one per line; None is left out."""
    width = max(map(len, fields))
    for name, value in fields.items():
        if value is not None:
            write(f"{name:{width}}  {visible(str(value), line=True)}")


def jobs_of(count: int) -> str:
    """Return a number of jobs in words: ``1 job``, ``2,000 jobs``."""
    return "1 job" if count == 1 else f"{count:,} jobs"


def age(timestamp: int | None, now: float | None = None) -> str | None:
    """Return how long ago a time in ms since 1970 was, such as ``5m``; ``in 5m`` if it is to come."""
    if timestamp is None:
        return None
    seconds = (time.time() if now is None else now) - timestamp / 1_000
    unit, length = next(((unit, length) for unit, length in _UNITS if abs(seconds) >= length), ("s", 1))
    return f"{'in ' if seconds <= -1 else ''}{int(abs(seconds) // length)}{unit}"


def moment(timestamp: int | None, zone: str | None = None) -> str | None:
    """Return a time in ms since 1970 with its offset from UTC and its age: local, or of a zone such as ``UTC``."""
    if timestamp is None:
        return None
    try:
        clock = datetime.fromtimestamp(timestamp / 1_000, timezone.utc).astimezone(_zone(zone))
    except (OverflowError, OSError, ValueError):
        # Written by hand, or by a broken clock.
        return f"{timestamp} ms"
    passed = age(timestamp) or ""
    shown = clock.isoformat(sep=" ", timespec="seconds")
    return f"{shown} ({passed if passed.startswith('in ') else f'{passed} ago'})"


def _zone(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    # Imported here: one command needs it.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        # Node may know other zones, and a small container none at all.
        return timezone.utc
