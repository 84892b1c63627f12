"""Rows as jobs: which column is what, and adding them through Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bullrush.arrow import ArrowWriter
from bullrush.errors import BullrushError, InvalidOptionError
from bullrush.job.option_compiler import OptionCompiler, read_options
from pyspark_bullrush.messages import marked
from pyspark_bullrush.options import WriteOptions

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType


def check_columns(options: WriteOptions, schema: StructType) -> None:
    """Check on the driver what can be wrong about columns and options, before any task starts.

    Raises:
        InvalidOptionError: a column does not exist, or an option of the jobs is wrong.
    """
    for option, columns in _columns(options).items():
        for column in columns:
            if column not in schema.fieldNames():
                found = ", ".join(schema.fieldNames()) or "none"
                raise InvalidOptionError(f"option {option!r}: there is no column {column!r}. There are: {found}")
    OptionCompiler().compile(_job_options(options) or {})


def add_rows(
    options: WriteOptions, batches: Iterable[pyarrow.RecordBatch], scope: str, batch_id: str | None = None
) -> tuple[int, int]:
    """Add the rows of one partition, and return how many jobs are new and how many existed already.

    Args:
        options: what the rows become.
        batches: the rows.
        scope: the first part of automatic ids: the same for the same rows, and for no others.
        batch_id: of a batch write: under this id Redis counts what was added.
    """
    try:
        with ArrowWriter(options.address.open(), **_arguments(options), id_scope=scope) as writer:
            for batch in batches:
                writer.write(batch)
    except BullrushError as error:
        if batch_id is None:
            raise
        again = "To go on, write again with option batchId set to it."
        raise marked(error, f"\nSome rows may be in the queue already. The batchId is {batch_id!r}. {again}") from None
    return writer.added, writer.duplicates


def _arguments(options: WriteOptions) -> dict[str, Any]:
    return {
        "name": options.name,
        "name_column": options.name_column,
        "data": options.data_columns,
        "job_id": options.job_id_column,
        "opts": _job_options(options),
    }


def _columns(options: WriteOptions) -> dict[str, tuple[str, ...]]:
    """Return the columns that the options name."""
    single = {
        "nameColumn": options.name_column,
        "jobIdColumn": options.job_id_column,
        "optsColumn": options.opts_column,
        "priorityColumn": options.priority_column,
        "delayColumn": options.delay_column,
        "parentColumn": options.parent_column,
    }
    return {
        "dataColumns": options.data_columns or (),
        **{name: (column,) for name, column in single.items() if column is not None},
    }


def _job_options(options: WriteOptions) -> Any:
    """Return the options of all jobs with the names of `bullrush.job.options.JobOptions`; those of BullMQ are known too."""
    return None if options.opts is None else read_options(options.opts)
