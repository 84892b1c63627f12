"""What the tasks of `enqueue` run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from bullrush.arrow import ArrowWriter
from bullrush.errors import InvalidOptionError
from bullrush.queue.queue import Queue
from bullrush.spark.address import Address, NamingServer

if TYPE_CHECKING:
    import pyarrow

#: The columns of what a task returns for each server.
COUNTS: Final = "place long, rows long, skipped long, counted long"
#: How long Redis keeps the place of a server in its list, in seconds: a day longer than the counter of a batch.
_PLACE_SECONDS: Final = 8 * 86_400


@dataclass(frozen=True)
class AddRows:
    """Adds the rows of one partition.

    Attributes:
        addresses: the queue, on one or several servers. For several, the last column of the rows has the place of their
            server.
        columns: the names of the columns; Spark itself knows them by other names.
        batch_id: the batch that counts the jobs.
        scope: the part of automatic ids before the content, None for ids from a column.
        by_partition: the number of the partition follows the scope.
        options: the options of `ArrowWriter`.
    """

    addresses: Sequence[Address]
    columns: Sequence[str]
    batch_id: str
    scope: str | None
    by_partition: bool
    options: dict[str, Any]

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Add the rows, and return how many there were and what the batch has counted up to now."""
        # Imported here, since this module is also imported where there is no Spark.
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        scope = self.scope
        if scope is not None and self.by_partition:
            scope = f"{scope}.{context.partitionId() if context else 0}"
        queues = [address.open() for address in self.addresses]
        writers = [ArrowWriter(queue, id_scope=scope, batch_id=self.batch_id, **self.options) for queue in queues]
        rows, counted = [0] * len(queues), [0] * len(queues)
        for batch in batches:
            for place, part in enumerate(self._divided(batch)):
                rows[place] += part.num_rows
                if part.num_rows:
                    with NamingServer(self.addresses, place):
                        writers[place].write(part)
        for place, queue in enumerate(queues):
            with NamingServer(self.addresses, place):
                writers[place].flush()
                if rows[place]:
                    # Read after the last row: the greatest number of all tasks is that of the whole batch.
                    counted[place] = read_count(queue, self.batch_id)
        skipped = [writer.skipped for writer in writers]
        places = list(range(len(queues)))
        yield pa.RecordBatch.from_pydict({"place": places, "rows": rows, "skipped": skipped, "counted": counted})

    def _divided(self, batch: pyarrow.RecordBatch) -> list[pyarrow.RecordBatch]:
        """Return the rows of each server."""
        if len(self.addresses) == 1:
            return [batch.rename_columns(list(self.columns))]
        from pyarrow import compute

        places = batch.column(batch.num_columns - 1)
        rows = batch.select(list(range(batch.num_columns - 1))).rename_columns(list(self.columns))
        return [rows.filter(compute.equal(places, place)) for place in range(len(self.addresses))]


@dataclass(frozen=True)
class ReadCount:
    """Returns what a batch has counted up to now on each server. A task reads it, since the driver may not reach Redis."""

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
        counted = []
        for place, address in enumerate(self.addresses):
            with NamingServer(self.addresses, place):
                counted.append(read_count(address.open(), self.batch_id))
        yield pa.RecordBatch.from_pydict({"counted": counted})


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
        place_key, count_key = queue.to_key(f"ext:servers-{batch_id}"), queue.to_key(f"ext:enq-{batch_id}")
        with NamingServer(addresses, place):
            found, counted = queue.core.commands([["GET", place_key], ["GET", count_key]]).wait()
        alone = found is None and (len(servers) == 1 or counted is None)
        if not alone and found != known.encode():
            raise InvalidOptionError(
                f"The batch {batch_id!r} was begun with another list of servers: {servers[place]} was "
                f"{found.decode().partition(' ')[0] if found else 'its only one'}. The list and its order are part of a batch"
            )
        noted.append((queue, ["SET", place_key, known, "EX", _PLACE_SECONDS]))
    if len(servers) > 1:
        for queue, command in noted:
            queue.core.commands([command]).wait()


def read_count(queue: Queue, batch_id: str) -> int:
    """Return how many jobs of a batch were really added."""
    (counted,) = queue.core.commands([["GET", queue.to_key(f"ext:enq-{batch_id}")]]).wait()
    return int(counted or 0)
