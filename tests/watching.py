"""What a server does for one queue: tests share a server, whose counters and lists have the calls of all."""

import base64
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redis import Redis


@contextmanager
def commands_about(name: str, redis: Redis) -> Iterator[Callable[[], list[str]]]:
    """Yield a function that returns the commands (``["EVALSHA", ...]``) with ``name`` in an argument since the start.

    The commands that a script calls are not among them.
    """
    with calls_about(name, redis) as calls:
        yield lambda: [call[0].upper() for call in calls()]


@contextmanager
def calls_about(name: str, redis: Redis) -> Iterator[Callable[[], list[list[str]]]]:
    """As `commands_about`, each command with its arguments: those of scripts that have spaces are cut there."""
    found: list[list[str]] = []

    def until_now() -> list[list[str]]:
        mark = uuid.uuid4().hex
        redis.echo(mark)
        while mark not in (seen := monitor.next_command())["command"]:
            if seen["client_type"] != "lua" and name in seen["command"]:
                found.append(seen["command"].split())
        return found

    with redis.monitor() as monitor:
        yield until_now


def connections_for(name: str, redis: Redis) -> list[dict[str, str]]:
    """Return the connections that are named after a queue; those of a worker of several have the name of its first."""
    name = base64.b64encode(name.encode()).decode()
    return [client for client in redis.client_list() if name in client["name"]]


def waiting_workers(name: str, redis: Redis) -> int:
    """Return how many workers wait for jobs of a queue at this moment."""
    return sum(client["cmd"] == "bzpopmin" for client in connections_for(name, redis))


def is_connected(redis: Redis) -> bool:
    """Return whether a worker, of whatever queue, waits for jobs at this server."""
    return any(client["cmd"] == "bzpopmin" for client in redis.client_list())
