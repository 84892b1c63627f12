"""What the tasks of `enqueue` run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from bullrush.arrow import ArrowWriter
from bullrush.spark.address import Address, NamingServer
from bullrush.spark.routing.writers import RouteWriters
from bullrush.spark.tasks.batch_counts import read_counts

if TYPE_CHECKING:
    import pyarrow

    from bullrush.queue import Queue

#: The columns of what a task returns for each server and queue.
COUNTS: Final = "place long, queue string, rows long, skipped long, counted long"


@dataclass(frozen=True)
class AddRows:
    """Adds the rows of one partition: the function of `enqueue` for ``mapInArrow``.

    Attributes:
        addresses: the queue, on one or several servers. For several, the last column of the rows has the place of their
            server.
        columns: the names of the columns; Spark itself knows them by other names.
        batch_id: the batch that counts the jobs.
        scope: the part of automatic ids before the content, None for ids from a column.
        by_partition: the number of the partition follows the scope.
        options: the options of `ArrowWriter`.
        target: the target of all rows, None for none.
        target_column: the column with the target of each row, None for none.
        durable: wait until the jobs are durable, as `Queue` does.
    """

    addresses: Sequence[Address]
    columns: Sequence[str]
    batch_id: str
    scope: str | None
    by_partition: bool
    options: dict[str, Any]
    target: Mapping[str, Any] | None = None
    target_column: str | None = None
    durable: bool | Literal["replica", "aof"] = False

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Add the rows, and return how many there were and what the batch has counted up to now."""
        # Imported here, since this module is also imported where there is no Spark.
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        scope = self.scope
        if scope is not None and self.by_partition:
            scope = f"{scope}.{context.partitionId() if context else 0}"
        queues = [address.open(adds=True, durable=self.durable) for address in self.addresses]
        servers = [self._writers(queue, scope) for queue in queues]
        for batch in batches:
            for place, part in enumerate(self._divided(batch)):
                with NamingServer(self.addresses, place):
                    servers[place].write(part)
        counts: list[dict[str, Any]] = []
        for place, (queue, writers) in enumerate(zip(queues, servers, strict=True)):
            with NamingServer(self.addresses, place):
                written = list(writers.flush())
                # Read after the last row: the greatest number of all tasks is that of the whole batch.
                counted = read_counts(queue, self.batch_id, [each.queue for each in written])
            counts += [{"place": place, **each._asdict(), "counted": counted.get(each.queue, 0)} for each in written]
        yield pa.RecordBatch.from_pylist(counts, schema=_schema())

    def _writers(self, queue: Queue, scope: str | None) -> RouteWriters:
        def opened(route: Queue) -> ArrowWriter:
            return ArrowWriter(route, id_scope=scope, batch_id=self.batch_id, **self.options)

        skip = self.options.get("on_invalid") == "skip"
        return RouteWriters(queue, opened, self.target, self.target_column, skip=skip)

    def _divided(self, batch: pyarrow.RecordBatch) -> list[pyarrow.RecordBatch]:
        """Return the rows of each server."""
        if len(self.addresses) == 1:
            return [batch.rename_columns(list(self.columns))]
        from pyarrow import compute

        places = batch.column(batch.num_columns - 1)
        rows = batch.select(list(range(batch.num_columns - 1))).rename_columns(list(self.columns))
        return [rows.filter(compute.equal(places, place)) for place in range(len(self.addresses))]


def _schema() -> pyarrow.Schema:
    import pyarrow as pa

    fields = [column.split() for column in COUNTS.split(", ")]
    return pa.schema([(name, pa.string() if kind == "string" else pa.int64()) for name, kind in fields])
