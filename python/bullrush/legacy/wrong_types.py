"""Reads keys of jobs, some of which may be no jobs: an id in a list may have a key of any type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bullrush.errors import RedisServerError
from bullrush.extending import reply

if TYPE_CHECKING:
    from bullrush.extending import CoreQueue

#: The types that commands need. A key that does not exist fits any of them.
_NEEDED: Final = {
    "HGET": b"hash",
    "HMGET": b"hash",
    "HGETALL": b"hash",
    "LRANGE": b"list",
    "ZSCORE": b"zset",
    "ZRANGE": b"zset",
}


class WrongType(NamedTuple):
    """Stands for the reply of a command whose key has another type.

    Attributes:
        type: the type that the key has.
    """

    type: str

    def __str__(self) -> str:
        """Return the reason why such an id is left."""
        return f"its key is a {self.type} and no job: remove the id by LegacyQueue.remove, or the key"


async def wrong_type(core: CoreQueue, key: str) -> WrongType | None:
    """Return the type of a key that should be the hash of a job; None if it is one, or does not exist."""
    [found] = await reply(core.commands([["TYPE", key]]))
    return None if found in (b"hash", b"none") else WrongType(found.decode())


async def read_keys(core: CoreQueue, commands: Sequence[Sequence[int | str | bytes]]) -> list[Any]:
    """Return the replies of commands that read one key each; `WrongType` for a key of another type.

    Redis: one round trip. Types are read only if Redis has refused a command: in two more round trips.
    """
    if not commands:
        return []
    try:
        return await reply(core.commands(commands))
    except RedisServerError as error:
        if error.code != "WRONGTYPE":
            raise
    types: list[bytes] = await reply(core.commands([["TYPE", command[1]] for command in commands]))
    fitting = [type in (_NEEDED[str(command[0])], b"none") for command, type in zip(commands, types, strict=True)]
    read = [command for command, fits in zip(commands, fitting, strict=True) if fits]
    found = iter(await reply(core.commands(read)) if read else [])
    return [next(found) if fits else WrongType(type.decode()) for fits, type in zip(fitting, types, strict=True)]
