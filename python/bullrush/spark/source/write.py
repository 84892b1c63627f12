"""Writing: rows become jobs, from a batch query or from a streaming query."""

from __future__ import annotations

import itertools
import logging
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext
from pyspark.sql import datasource
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamWriter, WriterCommitMessage

from bullrush.errors import InvalidOptionError
from bullrush.extending import check_batch_id
from bullrush.spark.source.messages import with_readable_errors
from bullrush.spark.source.options import WriteOptions
from bullrush.spark.source.reach import check_not_refused, check_reachable
from bullrush.spark.source.rows import add_rows, check_schema

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Row
    from pyspark.sql.types import StructType

_LOG: Final = logging.getLogger("bullrush.spark")
#: How many rows of PySpark 4.0's streams become one Arrow batch, as many as Spark's own batches have by default.
_BATCH: Final = 10_000

#: PySpark 4.0 has no such class: its streams give rows as Python objects.
_StreamArrowWriter: Final[type[DataSourceStreamWriter] | None] = getattr(
    datasource, "DataSourceStreamArrowWriter", None
)


@dataclass(frozen=True)
class Added(WriterCommitMessage):
    """What one task added.

    Attributes:
        added: new jobs.
        duplicates: rows whose job existed already.
        batch_id: the first part of the jobs' ids; of a stream, the query's id and the number of the micro-batch.
    """

    added: int
    duplicates: int
    batch_id: str


class BatchWriter(DataSourceArrowWriter):
    """Adds the rows of a DataFrame. It is made on the driver, and pickled to the tasks."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        check_schema(options, schema)
        self._options = options
        # Made once: a task that Spark repeats gives its rows the same ids.
        self._batch_id = check_batch_id(options.batch_id or uuid.uuid4().hex[:16])
        check_reachable(options.address)

    @with_readable_errors
    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> Added:
        """Add the rows of one partition, in a task."""
        scope = f"{self._batch_id}.{_task().partitionId()}"
        added, duplicates = add_rows(self._options, iterator, scope, self._batch_id)
        return Added(added, duplicates, self._batch_id)

    def commit(self, messages: Sequence[Any]) -> None:
        """Log what all tasks added. All rows are in Redis already."""
        _log(messages)


class _StreamWriter:
    """What the writers of streams share. Spark makes one for each micro-batch, and another one for its commit."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        check_schema(options, schema)
        check_not_refused(options.address)
        self._options = options
        self._schema = schema

    def _add(self, batches: Iterable[pyarrow.RecordBatch]) -> Added:
        task = _task()
        query, number = (task.getLocalProperty(key) for key in ("sql.streaming.queryId", "streaming.sql.batchId"))
        if not query or not number:
            raise InvalidOptionError("this task belongs to no streaming query: its jobs would get no lasting ids")
        # A micro-batch that runs again after a crash has the same two ids and the same rows, and adds nothing twice.
        batch_id = f"{query}.{number}"
        added, duplicates = add_rows(self._options, batches, f"{batch_id}.{task.partitionId()}")
        return Added(added, duplicates, batch_id)

    def commit(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803, ARG002 - Spark's name
        """Log what all tasks added. All rows are in Redis already."""
        _log(messages)


if _StreamArrowWriter is not None:

    class StreamWriter(_StreamWriter, _StreamArrowWriter):  # type: ignore[misc, valid-type]
        """Adds the rows of a streaming query, from PySpark 4.1 on."""

        @with_readable_errors
        def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> Added:
            """Add the rows of one partition of a micro-batch, in a task."""
            return self._add(iterator)

else:

    class StreamWriter(_StreamWriter, DataSourceStreamWriter):  # type: ignore[no-redef]
        """Adds the rows of a streaming query on PySpark 4.0."""

        @with_readable_errors
        def write(self, iterator: Iterator[Row]) -> Added:
            """Add the rows of one partition of a micro-batch, in a task."""
            return self._add(_batches(iterator, self._schema))


def _batches(rows: Iterator[Row], schema: StructType) -> Iterator[pyarrow.RecordBatch]:
    from pyspark.sql.conversion import LocalDataToArrowConversion

    while some := list(itertools.islice(rows, _BATCH)):
        yield from LocalDataToArrowConversion.convert(some, schema, use_large_var_types=False).to_batches()


def _task() -> TaskContext:
    task = TaskContext.get()
    if task is None:
        raise InvalidOptionError("rows are only written in a Spark task")
    return task


def _log(messages: Sequence[Added | None]) -> None:
    done = [message for message in messages if message is not None]
    if done:
        added, duplicates = sum(part.added for part in done), sum(part.duplicates for part in done)
        _LOG.info("batch %s: %d jobs added, %d existed already", done[0].batch_id, added, duplicates)
