"""The workers that are connected, of many queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bullrush.aio import Queue
from bullrush.errors import RedisServerError
from bullrush.extending import Handle, now_ms, reply, run_async


@dataclass(frozen=True)
class Connected:
    """The connection of a worker.

    Attributes:
        queue: its queue.
        name: the name of the worker; None if it has none.
        address: from where it is connected.
        since: since when, in ms since 1970; None if that is not known.
        age: for how many ms it has been connected; None if that is not known.
        idle: for how many ms it has been silent; None if that is not known.
    """

    queue: str
    name: str | None
    address: str | None
    since: int | None
    age: int | None
    idle: int | None

    @classmethod
    def of(cls, queue: str, client: Mapping[str, str], now: int) -> Connected:
        """Read the fields of CLIENT LIST."""
        age, idle = _milliseconds(client, "age"), _milliseconds(client, "idle")
        name = client.get("name", "").partition(":w:")[2] or None
        return cls(queue, name, client.get("addr"), None if age is None else now - age, age, idle)


async def connections(queues: Sequence[Queue]) -> list[Connected] | None:
    """Return the workers of queues of one server, by one CLIENT LIST; None if Redis does not list them."""
    if not queues:
        return []
    try:
        return await run_async(_connections(queues[0], [queue.name for queue in queues]))
    except RedisServerError:
        return None


async def _connections(handle: Handle, names: Sequence[str]) -> list[Connected]:
    found = await reply(handle.core.worker_connections(names))
    return [Connected.of(queue, dict(fields), now_ms()) for queue, fields in found]


def _milliseconds(client: Mapping[str, str], field: str) -> int | None:
    return int(client[field]) * 1_000 if client.get(field, "").isdigit() else None
