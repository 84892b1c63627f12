"""The address of a queue, which is sent from the driver to the executors."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from bullrush.errors import InvalidOptionError
from bullrush.queue.queue import Queue
from bullrush.url import resolve


@dataclass(frozen=True)
class Address:
    """The address of one queue, with which another machine can open it.

    Attributes:
        name: the queue's name.
        url: a Redis URL; or ``env:NAME`` or ``file:/path``, which are read where the queue is opened, so that no
            password is sent with the code.
        prefix: the prefix of the queue's keys.
    """

    name: str
    url: str = field(repr=False)
    prefix: str

    @classmethod
    def on_driver(cls, queue: str, url: str | None, prefix: str | None) -> Address:
        """Return the address of a queue, for a call on the driver.

        The driver resolves what the executors cannot: its environment variables, and an embedded server, which it
        starts.
        """
        indirect = url is not None and url.startswith(("env:", "file:"))
        return cls(queue, str(url) if indirect else resolve(url), prefix or "bull")

    def opened_url(self) -> str:
        """Return the Redis URL on this machine.

        Raises:
            InvalidOptionError: the environment variable or the file does not exist.
        """
        kind, _, place = self.url.partition(":")
        if kind == "env":
            if not (found := os.environ.get(place)):
                raise InvalidOptionError(f"The environment variable {place} is not set on this machine")
            return found
        if kind == "file":
            path = Path(place.removeprefix("//"))
            try:
                return path.read_text().strip()
            except OSError as error:
                raise InvalidOptionError(f"No Redis URL in {path} on this machine: {error.strerror}") from None
        return self.url

    def open(self) -> Queue:
        """Return the queue. All queues of a process and a URL share their connections, also from task to task."""
        return Queue(self.name, url=self.opened_url(), prefix=self.prefix)
