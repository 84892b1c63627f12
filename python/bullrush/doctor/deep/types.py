"""BR104: keys that are no jobs, whose names are read anyway, and that another program has written."""

from __future__ import annotations

from typing import Final

from bullrush.doctor.finding import SHOWN, Finding, counted
from bullrush.extending import is_key_of_queue, owner_of_key

_OF_JOB: Final = {
    "lock": "string",
    "logs": "list",
    "dependencies": "set",
    "processed": "hash",
    "failed": "hash",
    "unsuccessful": "zset",
}
_BEGINNINGS: Final = {
    "de:": "string",
    "repeat:": "hash",
    "ext:run-": "list",
    "ext:enq-": "string",
    "ext:servers-": "string",
}


def is_job(suffix: str) -> bool:
    """Tell whether a key of a queue may be the hash of a job."""
    return bool(suffix) and not is_key_of_queue(suffix) and owner_of_key(suffix) == suffix


class WrongTypes:
    """Keys of some queues that have another type than they should."""

    def __init__(self) -> None:
        """Begin without keys."""
        self._found: dict[str, list[str]] = {}

    def look(self, queue: bytes, part: bytes, kind: str) -> None:
        """Note a key if its type is wrong.

        Args:
            queue: the name of the queue.
            part: the key without the name of the queue; no job that is in a list or set.
            kind: the type of the key.
        """
        text = part.decode(errors="replace")
        expected = _expected(text)
        if expected not in (None, kind):
            self._found.setdefault(queue.decode(), []).append(f"{text} is a {kind}, not a {expected}")

    def findings(self) -> list[Finding]:
        """Return what was noted."""
        return [
            Finding("BR104", f"{counted(len(wrong), 'key')}: {'; '.join(sorted(wrong)[:SHOWN])}", name)
            for name, wrong in self._found.items()
        ]


def _expected(part: str) -> str | None:
    """Return the type that a key should have; None if nobody knows it."""
    # What follows `de:` may look like the key of a job.
    if not part.startswith("de:") and owner_of_key(part) != part:
        return _OF_JOB.get(part.rpartition(":")[2])
    return next((kind for start, kind in _BEGINNINGS.items() if part.startswith(start)), None)
