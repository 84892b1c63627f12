"""What a batch of `enqueue` has counted in Redis, on each server and for each queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from bullrush.errors import InvalidOptionError
from bullrush.spark.address import Address, NamingServer
from bullrush.spark.routing.queues import queues_of

if TYPE_CHECKING:
    import pyarrow

    from bullrush.queue.queue import Queue

#: The columns of what `ReadCounts` returns.
COUNTED: Final = "place long, queue string, counted long"
#: How long Redis keeps the place of a server in its list, in seconds: a day longer than the counter of a batch.
_PLACE_SECONDS: Final = 8 * 86_400


@dataclass(frozen=True)
class ReadCounts:
    """Returns what a batch has counted up to now on each server, in the base and in the routes.

    A task reads it, since the driver may not reach Redis.
    """

    addresses: Sequence[Address]
    batch_id: str

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Read the counters.

        Raises:
            InvalidOptionError: the batch was begun with another list of servers.
        """
        import pyarrow as pa

        for _ in batches:
            pass
        check_servers(self.addresses, self.batch_id)
        places: list[int] = []
        counts: dict[str, list[str | int]] = {"queue": [], "counted": []}
        for place, address in enumerate(self.addresses):
            with NamingServer(self.addresses, place):
                queue = address.open()
                found = read_counts(queue, address, self.batch_id, queues_of(queue))
            places += [place] * len(found)
            counts["queue"] += found
            counts["counted"] += found.values()
        yield pa.RecordBatch.from_pydict({"place": places, **counts})


def check_servers(addresses: Sequence[Address], batch_id: str) -> None:
    """Check that a batch was begun with these servers in this order, and note them for 8 days if it is new.

    With another list its rows would go to other servers, and be added a second time.

    Raises:
        InvalidOptionError: it was begun with another list.
    """
    servers = [address.server for address in addresses]
    fingerprint = blake2b("\n".join(servers).encode(), digest_size=8).hexdigest()
    noted: list[tuple[Queue, list[int | str | bytes]]] = []
    for place, address in enumerate(addresses):
        queue, known = address.open(), f"{place + 1}/{len(servers)} {fingerprint}"
        place_key = queue.to_key(f"ext:servers-{batch_id}")
        with NamingServer(addresses, place):
            (found,) = queue.core.commands([["GET", place_key]]).wait()
            counted = read_counts(queue, address, batch_id, queues_of(queue))
        alone = found is None and (len(servers) == 1 or not any(counted.values()))
        if not alone and found != known.encode():
            raise InvalidOptionError(
                f"The batch {batch_id!r} was begun with another list of servers: {servers[place]} was "
                f"{found.decode().partition(' ')[0] if found else 'its only one'}. The list and its order are part of a batch"
            )
        noted.append((queue, ["SET", place_key, known, "EX", _PLACE_SECONDS]))
    if len(servers) > 1:
        for queue, command in noted:
            # The name first, as scripts do it: `obliterate` finds the key by it.
            queue.core.commands([["LPUSH", queue.to_key("ext:named"), f"servers-{batch_id}"], command]).wait()


def read_counts(queue: Queue, address: Address, batch_id: str, names: Iterable[str]) -> dict[str, int]:
    """Return how many jobs of a batch were really added to each of some queues: the base, and routes of it."""
    names = list(dict.fromkeys(names))
    counted = queue.core.commands([["GET", f"{address.prefix}:{name}:ext:enq-{batch_id}"] for name in names]).wait()
    return {name: int(count or 0) for name, count in zip(names, counted, strict=True)}
