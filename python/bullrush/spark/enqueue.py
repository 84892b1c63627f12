"""Adding the rows of a DataFrame as jobs. The core encodes them from Arrow, on the executors."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from bullrush.arrow import ArrowWriter
from bullrush.errors import InvalidOptionError
from bullrush.job.option_compiler import OptionCompiler
from bullrush.job.options import JobOptions
from bullrush.spark.address import Address

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import Column, DataFrame

_NAME_COLUMN: Final = "__bullrush_name"


class EnqueueStats(NamedTuple):
    """What an `enqueue` did.

    Attributes:
        added: new jobs.
        duplicates: rows whose job existed already, from an earlier call or from an earlier attempt of a retried task.
        seconds: the time of the call.
    """

    added: int
    duplicates: int
    seconds: float


def enqueue(
    df: DataFrame,
    queue: str,
    *,
    url: str | None = None,
    prefix: str | None = None,
    name: str | Column | None = None,
    data: Sequence[str] | None = None,
    job_id: str | None = None,
    batch_id: str | None = None,
    opts: JobOptions | None = None,
) -> EnqueueStats:
    """Add one job per row, and wait until all are in Redis.

    A task that Spark retries or runs twice adds no job twice, since its rows get the same ids again. This needs the
    jobs of the first attempt to be in Redis still: be careful with ``remove_on_complete``. The rows of a partition may
    have another order, but they must be the same rows; a DataFrame with random content needs ``job_id``.

    Args:
        df: the rows.
        queue: the queue's name.
        url: the URL of Redis for the executors; ``env:NAME`` and ``file:/path`` are read there. The default is that of
            `Queue`.
        prefix: the prefix of the queue's keys, ``bull`` by default.
        name: the job names: a column of ``df`` by name, a Column, or one name for all jobs. The queue's name by
            default.
        data: the columns that become the job's data; all by default. `bullrush.arrow.ArrowWriter` describes the JSON.
        job_id: the column with the job ids, strings or integers; ``17`` in a column ``order`` becomes ``order-17``.
            Without it ids are made from this call's batch id, the partition and the row's content.
        batch_id: part of the ids, which makes equal rows of different calls different jobs; random by default. Calls
            with the same batch id, rows and partitions add the jobs once: use the day, or the number of a streaming
            batch.
        opts: the options of all jobs, as for ``Queue.add``.

    Returns:
        How many jobs are new, and how many existed already.

    Raises:
        InvalidOptionError: an option or a column is wrong. If an executor finds it, it is inside Spark's own exception.
    """
    if isinstance(data, str):
        raise InvalidOptionError(f"data is a list of columns: [{data!r}]")
    columns = list(df.columns)
    for column in [*(data or ()), *([job_id] if job_id is not None else ())]:
        if column not in columns:
            raise InvalidOptionError(f"No column {column!r}; there are {', '.join(columns)}")
    OptionCompiler(opts).compile({})
    address = Address.on_driver(queue, url, prefix)
    name_column = None
    if isinstance(name, str) and name in columns:
        name, name_column = None, name
    elif name is not None and not isinstance(name, str):
        df = df.withColumn(_NAME_COLUMN, name.cast("string"))
        name, name_column, data = None, _NAME_COLUMN, data or columns
    scope = batch_id or uuid.uuid4().hex[:16]
    add = _AddPartition(address, name, name_column, data, job_id, scope, opts)
    started = time.monotonic()
    counts = df.mapInArrow(add, "added long, duplicates long").collect()
    seconds = time.monotonic() - started
    return EnqueueStats(sum(row.added for row in counts), sum(row.duplicates for row in counts), seconds)


@dataclass(frozen=True)
class _AddPartition:
    """Adds the rows of one partition, on an executor."""

    address: Address
    name: str | None
    name_column: str | None
    data: Sequence[str] | None
    job_id: str | None
    scope: str
    opts: JobOptions | None

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        # Imported here, since this module is also imported where there is no Spark.
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context else 0
        with ArrowWriter(
            self.address.open(),
            name=self.name,
            name_column=self.name_column,
            data=self.data,
            job_id=self.job_id,
            id_scope=f"{self.scope}.{partition}",
            opts=self.opts,
        ) as writer:
            for batch in batches:
                writer.write(batch)
        yield pa.RecordBatch.from_pydict({"added": [writer.added], "duplicates": [writer.duplicates]})
