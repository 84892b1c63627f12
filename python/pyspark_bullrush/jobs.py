"""Reading jobs in a task, with the columns that a query asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from bullrush.arrow import ArrowReader
from bullrush.arrow.windows import Window
from bullrush.errors import InvalidOptionError
from bullrush.spark.address import Address
from bullrush.spark.reading.columns import COLUMNS, arrow_schema, nullable_struct
from bullrush.spark.tasks.read_windows import ReadWindows

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

#: The columns of a table without a schema of the user's own.
SCHEMA: Final = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())


#: The columns that every job has.
_NEVER_NULL: Final = frozenset({"jobId", "state"})


def check_types(schema: StructType) -> None:
    """Check a schema of the user's own before any task starts.

    Raises:
        InvalidOptionError: a column has a type that JSON cannot give, or is never null by its type, though a job may
            lack it.
    """
    for column, nullable in zip(schema.fields, nullable_struct(schema, "schema").fields, strict=True):
        if column.dataType != nullable.dataType or not (column.nullable or column.name in _NEVER_NULL):
            raise InvalidOptionError(
                f"column {column.name!r} has a NOT NULL: leave it out, since any value may be null"
            )


class JobReader:
    """Reads jobs with the columns of a schema. It is made and checked on the driver, and pickled to the tasks.

    Raises:
        InvalidOptionError: a column does not exist, or cannot have its type.
    """

    def __init__(self, address: Address, schema: StructType, processed_by: str | None = None) -> None:
        self._address = address
        self._schema = schema
        self._processed_by = processed_by
        check_types(schema)
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
