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

    from bullrush.queue import Queue

#: The columns of what `ReadCounts` returns.
COUNTED: Final = "place long, queue string, counted long"


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
                found = read_counts(queue, self.batch_id, queues_of(queue))
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
    noted: list[tuple[Queue, str]] = []
    for place, address in enumerate(addresses):
        queue, known = address.open(), f"{place + 1}/{len(servers)} {fingerprint}"
        with NamingServer(addresses, place):
            found = queue.core.place_of_batch(batch_id).wait()
            counted = read_counts(queue, batch_id, queues_of(queue))
        alone = found is None and (len(servers) == 1 or not any(counted.values()))
        if not alone and found != known:
            raise InvalidOptionError(
                f"The batch {batch_id!r} was begun with another list of servers: {servers[place]} was "
                f"{found.partition(' ')[0] if found else 'its only one'}. The list and its order are part of a batch"
            )
        noted.append((queue, known))
    if len(servers) > 1:
        for queue, known in noted:
            queue.core.note_place(batch_id, known).wait()


def read_counts(queue: Queue, batch_id: str, names: Iterable[str]) -> dict[str, int]:
    """Return how many jobs of a batch were really added to each of some queues: the base, and routes of it."""
    names = list(dict.fromkeys(names))
    return dict(zip(names, queue.core.batch_counts(names, batch_id).wait(), strict=True))
