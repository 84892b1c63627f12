"""The Lua scripts, as they are sent to Redis, with what they take and return: for other languages and for redis-cli."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from bullrush._core import __version__, script_contracts, script_sources

_OPTIONAL: Final = "optional: "
#: What holds for all scripts.
_ALWAYS: Final = "Flags such as lifo are 1 or 0. A job that is active needs the token of its lock, or 0."
#: Notes for the scripts in whose texts a pattern occurs.
_NOTES: Final = {
    r"opts_json": (
        "opts_json: an object with the names that BullMQ stores, such as attempts, backoff and kl (keepLogs); the docs "
        "have its JSON schema, job-options.json. It is stored as it is."
    ),
    r"(?s)opts_json.*priority, lifo": (
        "priority: an argument of its own, as are lifo and delay where the script has them. They decide where a job "
        "goes. In opts_json alone they are ignored; BullMQ writes them in both places."
    ),
    r"fan_out": (
        'fan_out: with this word as an argument ("fan_out", behind all others but "#number") several idle workers wake '
        "at once, one for each job that can run now. Without it they wake one after another."
    ),
    r"#number": (
        '#number: a text that begins with #, such as "#7", behind all other arguments. It comes back as the last '
        "element of the reply, which shows that the reply belongs to this call. It may be left out."
    ),
    r"limiter ttl": (
        "fetch_jobs: jobs is one text in MessagePack, an array of id, job, id, job... A job that has never run and has "
        "no further fields is an array of six texts: name, data, opts, timestamp, delay, priority. Any other job is an "
        "array of one element, the array of its fields and values. An empty array is an id without a job. All is as it "
        "was before the call."
    ),
    r"note_result": (
        "note_result: such a job has the name of the job that ended. Its data is an object with queue, id, name, state "
        "(completed or failed), attemptsMade, finishedOn, and returnvalue or failedReason."
    ),
}
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
        notes: what a caller has to know beside.
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
    notes: tuple[str, ...]
    sha: str
    source: str

    def contract(self) -> dict[str, object]:
        """Return how to call it, for programs in other languages, with its file in an export; see `export_scripts`."""
        return {
            "name": self.name,
            "file": f"{self.name}.lua",
            "sha": self.sha,
            "summary": self.summary,
            "keys": [
                {"key": key.removeprefix(_OPTIONAL), "optional": key.startswith(_OPTIONAL)}
                for key in (self.keys, self.other)
                if key
            ],
            "argv": self.argv,
            "returns": self.returns,
            "events": self.events,
            "publishes": self.publishes,
            "notes": list(self.notes),
        }


def read_scripts() -> dict[str, Script]:
    """Return all scripts by name, sorted."""
    contracts = script_contracts()
    return {name: _script(name, contracts[name], *found) for name, found in sorted(script_sources().items())}


def export_scripts(folder: Path, example: Callable[[Script], str | None]) -> int:
    """Write all scripts to a folder: ``FAMILY/NAME.lua`` each, and ``scripts.json`` with what they take and return.

    A file is the source to the byte, so its SHA-1 is the one for EVALSHA. Files of an earlier export are replaced.

    Args:
        folder: is made if it does not exist.
        example: returns the lines of a shell that run a script by redis-cli.

    Returns:
        how many scripts there are.

    Raises:
        OSError: the folder cannot be written.
    """
    scripts = read_scripts()
    contracts = []
    for script in scripts.values():
        file = folder / f"{script.name}.lua"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(script.source.encode())
        contracts.append({**script.contract(), "redis_cli": example(script)})
    (folder / "scripts.json").write_text(json.dumps({"bullrush": __version__, "scripts": contracts}, indent=2) + "\n")
    return len(scripts)


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
        (_ALWAYS, *(note for pattern, note in _NOTES.items() if re.search(pattern, contract))),
        sha,
        source,
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
