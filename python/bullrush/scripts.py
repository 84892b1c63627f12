"""The Lua scripts, as they are sent to Redis, with what they take and return: for other languages and for redis-cli."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from bullrush._core import script_contracts, script_sources

_PART: Final = re.compile(r"^(KEYS\[[12]\]|ARGV|Returns|Events|Publishes)\s+", re.MULTILINE)


class Script(NamedTuple):
    """One Lua script.

    Attributes:
        name: its family and name, ``manage/pause``.
        summary: what it does.
        keys: its key; it derives the others from it.
        other: its second key, of another queue; "" for most scripts.
        argv: its arguments.
        returns: its reply.
        events: the entries that it adds to the event stream.
        publishes: the messages that it publishes, with their channels.
        sha: the SHA-1 of the source, for EVALSHA.
        source: the Lua, without comments.
    """

    name: str
    summary: str
    keys: str
    other: str
    argv: str
    returns: str
    events: str
    publishes: str
    sha: str
    source: str


def read_scripts() -> dict[str, Script]:
    """Return all scripts by name, sorted."""
    contracts = script_contracts()
    return {name: _script(name, contracts[name], *found) for name, found in sorted(script_sources().items())}


def _script(name: str, contract: str, source: str, sha: str) -> Script:
    summary, *parts = _PART.split(contract)
    found = {title: _one_line(text) for title, text in zip(parts[::2], parts[1::2], strict=True)}
    return Script(
        name,
        _one_line(summary),
        found.get("KEYS[1]", ""),
        found.get("KEYS[2]", ""),
        found.get("ARGV", ""),
        found.get("Returns", ""),
        found.get("Events", "none"),
        found.get("Publishes", "none"),
        sha,
        source,
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
