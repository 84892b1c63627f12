"""The signpost of a queue of Bull that has moved: where its jobs go."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

from bullrush.extending import read_number, reply
from bullrush.url import DEFAULT_URL

if TYPE_CHECKING:
    from bullrush.extending import Handle

#: The key of the signpost, behind that of the queue.
SIGNPOST: Final = "ext:moved"
#: Its field with the time at which the first run began, in ms since 1970.
MOVED_AT: Final = "at"


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

    def __str__(self) -> str:
        """Return prefix, name and place of the other queue."""
        return f"{self.prefix}:{self.name}" + (f" at {self.place}" if self.place else "")

    def command(self, queue: Handle) -> str:
        """Return the command that moves what waits in the queue of Bull, without passwords."""
        words = ["bullrush", "migrate", queue.name, "--to-prefix", self.prefix]
        words += ["--prefix", queue.prefix] if queue.prefix != "bull" else []
        words += ["--to-name", self.name] if self.name != queue.name else []
        words += ["--from", queue._shown_url] if queue._shown_url != DEFAULT_URL else []
        words += ["--to-url", f"redis://{self.place}"] if self.place else []
        return shlex.join(words)

    def looking(self, shown_url: str, *command: str) -> str:
        """Return a command about the queue to which the jobs have gone, without passwords.

        Args:
            shown_url: the URL of the queue of Bull.
            command: its words, before the name of the queue.
        """
        url = f"redis://{self.place}" if self.place else shown_url
        words = [*command, self.name, "--prefix", self.prefix]
        return shlex.join(words + (["--url", url] if url != DEFAULT_URL else []))


async def read_moved_at(queue: Handle) -> int | None:
    """Return when the jobs have begun to move, in ms since 1970; None if the signpost does not say it."""
    [found] = await reply(queue.core.commands([["HGET", queue.to_key(SIGNPOST), MOVED_AT]]))
    return read_number(found)


async def read_signpost(queue: Handle) -> Signpost | None:
    """Return where the jobs have gone, None without a signpost."""
    [found] = await reply(queue.core.commands([["HMGET", queue.to_key(SIGNPOST), *Signpost._fields]]))
    return None if None in found else Signpost(*(value.decode(errors="replace") for value in found))
