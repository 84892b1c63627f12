"""What a server is asked to do for one queue: tests share a server, so its own counters count the calls of others, too."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redis import Redis


@contextmanager
def commands_about(name: str, redis: Redis) -> Iterator[Callable[[], list[str]]]:
    """Yield a function that returns the commands (``["EVALSHA", ...]``) with ``name`` in an argument since the beginning.

    The commands that a script calls are not among them.
    """
    found: list[str] = []

    def until_now() -> list[str]:
        mark = uuid.uuid4().hex
        redis.echo(mark)
        while mark not in (seen := monitor.next_command())["command"]:
            if seen["client_type"] != "lua" and name in seen["command"]:
                found.append(seen["command"].split(maxsplit=1)[0].upper())
        return found

    with redis.monitor() as monitor:
        yield until_now
