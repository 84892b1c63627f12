"""Reads the key space once: which jobs have a hash, and which hashes are of no known job."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bullrush.doctor.deep.places import Places
from bullrush.doctor.deep.types import WrongTypes, is_job
from bullrush.doctor.reading import PAGE, Server


@dataclass
class Hashes:
    """What the key space says about a queue.

    Attributes:
        unseen: ids in lists or sets for which no hash was seen.
        strange: ids of hashes that are in no list and no set.
    """

    unseen: set[bytes]
    strange: set[bytes] = field(default_factory=set)


#: Ids of this form are jobs' and no keys of the queue: most keys, so no text is made of them.
_PLAIN: Final = bytes.isdigit


async def read_hashes(server: Server, queues: Mapping[str, Places], wrong: WrongTypes) -> dict[str, Hashes]:
    """Compare the key space with the places of the jobs of some queues on this server.

    Redis: SCAN over the whole database, 500 keys per call.
    """
    found = {name.encode(): Hashes(set(places.of)) for name, places in queues.items()}
    known = {name.encode(): places.of for name, places in queues.items()}
    start = f"{server.prefix}:".encode()
    single = f"{server.prefix}:{next(iter(queues))}:" if len(queues) == 1 else f"{server.prefix}:"
    async for page in scanned(server, single, "hash"):
        for key in page:
            name, _, suffix = key[len(start) :].partition(b":")
            hashes = found.get(name)
            if hashes is None:
                continue
            if suffix in known[name]:
                hashes.unseen.discard(suffix)
            elif _PLAIN(suffix) or is_job(suffix.decode(errors="replace")):
                hashes.strange.add(suffix)
            else:
                wrong.look(name, suffix, "hash")
    return {name.decode(): hashes for name, hashes in found.items()}


async def scanned(server: Server, start: str, kind: str) -> AsyncIterator[list[bytes]]:
    """Yield the keys of a type that begin with a text, some at a time."""
    cursor: Any = b"0"
    while True:
        command = ("SCAN", cursor, "MATCH", _pattern(start), "COUNT", PAGE, "TYPE", kind)
        cursor, page = await server.ask(*command)
        yield page
        if cursor == b"0":
            return


def _pattern(start: str) -> str:
    """Return the pattern of the keys that begin with a text."""
    return "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in start) + "*"
