"""What stays in a queue of Bull that has moved: a signpost, which bullrush's other classes obey."""

from __future__ import annotations

import shlex
from typing import Any, Final, NamedTuple

from bullrush.extending import QueueCalls
from bullrush.legacy.flavor import LegacyBase
from bullrush.legacy.migrating.options import place
from bullrush.legacy.reading import read_all

_KEY: Final = "ext:moved"


class Signpost(NamedTuple):
    """Where the jobs of a queue of Bull go: what the fields of the key say.

    Attributes:
        prefix: the prefix of the other queue.
        name: its name.
        place: its server and database; "" for those of the queue of Bull.
    """

    prefix: str
    name: str
    place: str

    def command(self, prefix: str, name: str) -> str:
        """Return the command that moves what waits in the queue of Bull.

        Args:
            prefix: the prefix of the queue of Bull.
            name: its name.
        """
        words = ["bullrush", "migrate", name, "--to-prefix", self.prefix]
        words += ["--prefix", prefix] if prefix != "bull" else []
        words += ["--to-name", self.name] if self.name != name else []
        words += ["--to-url", f"redis://{self.place}"] if self.place else []
        return shlex.join(words)


def _signpost(queue: LegacyBase, target: QueueCalls[Any]) -> Signpost:
    there = place(target._url)
    return Signpost(target.prefix, target.name, "" if there == place(queue._url) else "/".join(there))


async def leave_signpost(queue: LegacyBase, target: QueueCalls[Any]) -> None:
    """Write where the jobs go. Who makes a `Queue` or `Worker` of the old name is sent there from now on."""
    fields = [part for field in _signpost(queue, target)._asdict().items() for part in field]
    await read_all(queue, [["HSET", queue.to_key(_KEY), *fields]])


async def read_signpost(queue: LegacyBase) -> Signpost | None:
    """Return where the jobs have gone, None without a signpost."""
    [found] = await read_all(queue, [["HMGET", queue.to_key(_KEY), *Signpost._fields]])
    return None if None in found else Signpost(*(value.decode(errors="replace") for value in found))


async def leads_to(queue: LegacyBase, target: QueueCalls[Any]) -> bool:
    """Return whether the jobs of the queue have gone to this one, or have begun to."""
    return await read_signpost(queue) == _signpost(queue, target)


async def has_signpost(queue: LegacyBase) -> bool:
    """Return whether the queue has moved, or begun to."""
    return (await read_all(queue, [["EXISTS", queue.to_key(_KEY)]])) == [1]


async def remove_signpost(queue: LegacyBase) -> bool:
    """Remove the signpost; return whether there was one."""
    return (await read_all(queue, [["UNLINK", queue.to_key(_KEY)]])) == [1]
