"""Reading jobs in a task, with the columns that a query asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from bullrush.arrow import ArrowReader, Window
from bullrush.spark.address import Address
from bullrush.spark.reading.columns import COLUMNS, arrow_schema, check_nullable
from bullrush.spark.tasks.read_windows import ReadWindows

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

#: The columns of a table without a schema of the user's own.
SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())


class JobReader:
    """Reads jobs with the columns of a schema. It is made and checked on the driver, and pickled to the tasks.

    Raises:
        InvalidOptionError: a column does not exist, cannot have its type, or is NOT NULL.
    """

    def __init__(self, address: Address, schema: StructType, processed_by: str | None = None) -> None:
        self._address = address
        self._schema = schema
        self._processed_by = processed_by
        check_nullable(schema, "schema")
        with address.open() as queue:
            ArrowReader(queue, arrow_schema(schema))  # checks the columns

    def read(self, windows: Sequence[Window]) -> Iterator[pyarrow.RecordBatch]:
        """Read the jobs of these windows."""
        # Imported here, since only tasks need it.
        import pyarrow as pa

        schema = arrow_schema(self._schema)
        for batch in ReadWindows(self._address, schema, (), self._processed_by).read(windows):
            # Exactly the schema that Spark compares with, which may say that a column has no nulls.
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
