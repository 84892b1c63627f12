"""The columns of jobs, and reading them in a task."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from bullrush.arrow import ArrowReader
from bullrush.spark.address import Address

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

#: The columns of a table without a schema of the user's own.
SCHEMA: Final = (
    "jobId string, name string, state string, data string, opts string, timestamp timestamp, processedOn timestamp, "
    "finishedOn timestamp, delay long, priority int, attemptsMade int, attemptsStarted int, stalledCounter int, "
    "processedBy string, returnvalue string, failedReason string, parentKey string"
)

#: The column with the name of the worker that finished a job.
_WORKER: Final = "processedBy"


class JobReader:
    """Reads jobs with the columns that a query asks for. It can be pickled."""

    def __init__(self, address: Address, schema: StructType, processed_by: str | None = None) -> None:
        self._address = address
        self._schema = schema
        self._processed_by = processed_by

    def check(self) -> None:
        """Check the schema on the driver.

        Raises:
            InvalidOptionError: a column does not exist, or cannot have its type.
        """
        self._reader()

    def scores(self, state: str, after: int, until: int) -> Iterator[pyarrow.RecordBatch]:
        """Read the jobs of a state that finished in ``after < time <= until``."""
        return self._shaped(self._reader().scores(state, after, until))

    def ranks(self, state: str, start: int, stop: int) -> Iterator[pyarrow.RecordBatch]:
        """Read the jobs of a state from one position to another one."""
        return self._shaped(self._reader().ranks(state, start, stop))

    def _reader(self) -> ArrowReader:
        return ArrowReader(self._address.open(), self._wanted(), skip_removed=True)

    def _shaped(self, batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Keep the jobs of one worker if asked for, and give batches exactly the schema that Spark compares them with."""
        # Imported here, since only tasks need it.
        import pyarrow as pa
        import pyarrow.compute as pc

        schema = arrow_schema(self._schema)
        for batch in batches:
            rows = batch
            if self._processed_by is not None:
                rows = batch.filter(pc.equal(batch.column(_WORKER), self._processed_by))
            yield pa.RecordBatch.from_arrays([rows.column(name) for name in schema.names], schema=schema)

    def _wanted(self) -> pyarrow.Schema:
        import pyarrow as pa

        schema = arrow_schema(self._schema)
        needs_worker = self._processed_by is not None and _WORKER not in schema.names
        return schema.append(pa.field(_WORKER, pa.string())) if needs_worker else schema


def arrow_schema(schema: StructType) -> pyarrow.Schema:
    """Return a schema of Spark in Arrow's types, with times in UTC as Spark expects them."""
    # Imported here, since it needs pyarrow, and PySpark looks for data sources also where there is none.
    from pyspark.sql.pandas.types import to_arrow_schema

    # Older versions of PySpark always take UTC.
    has_zone = "timezone" in inspect.signature(to_arrow_schema).parameters
    zone: dict[str, Any] = {"timezone": "UTC"} if has_zone else {}
    return to_arrow_schema(schema, **zone)
