"""Rows as jobs: which column is what, and adding them through Arrow."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from bullrush.arrow import ArrowWriter
from bullrush.errors import BullrushError, InvalidOptionError
from bullrush.extending import RowOptions, read_options
from bullrush.spark.rows.frame import check_data, check_role, is_months
from bullrush.spark.source.messages import marked
from bullrush.spark.source.options import WriteOptions

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

_LOG: Final = logging.getLogger("bullrush.spark")


def check_schema(options: WriteOptions, schema: StructType) -> None:
    """Check on the driver what can be wrong about columns and options, before any task starts.

    Raises:
        InvalidOptionError: a column does not exist or cannot be what it is to be, or an option of the jobs is wrong.
    """
    if not schema.fields:
        raise InvalidOptionError(
            "there are no columns, and Spark hands over no rows without any: keep a column, such as an id"
        )
    if twins := sorted({name for name in schema.names if schema.names.count(name) > 1}):
        raise InvalidOptionError(f"two columns are named {twins[0]!r}")
    roles = _roles(options)
    for option, column in [*((option, column) for option, (_, column) in roles.items()), *_data(options)]:
        if column not in schema.names:
            raise InvalidOptionError(
                f"option {option!r}: there is no column {column!r}. There are: {', '.join(schema.names)}"
            )
    for role, column in roles.values():
        check_role(role, column, schema[column].dataType)
    for column in options.data_columns or schema.names:
        check_data(column, schema[column].dataType)
    for column in schema.names:  # Spark hands over all of them, also those that are in no job
        if is_months(schema[column].dataType):
            raise InvalidOptionError(
                f"column {column!r} is an interval of years and months, which Spark cannot hand over: cast it to a "
                "string"
            )
    RowOptions.of(_job_options(options), options.address.name)


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
    # An error before the first row is the same in all tasks: nothing is in the queue, and nothing has to be resumed.
    writer = ArrowWriter(options.address.open(adds=True), **_arguments(options), id_scope=scope, batch_id=batch_id)
    try:
        with writer:
            for batch in batches:
                writer.write(batch)
    except BullrushError as error:
        if batch_id is None:
            raise
        raise marked(error, _how_to_go_on(error, batch_id)) from None
    if writer.skipped:
        _LOG.warning("%d rows cannot be jobs and were left out", writer.skipped)
    return writer.added, writer.duplicates


def _how_to_go_on(error: BullrushError, batch_id: str) -> str:
    # The same wrong row would fail again.
    wrong = isinstance(error, InvalidOptionError)
    first = "correct the rows, or leave wrong ones out with onInvalidRow='skip', and " if wrong else ""
    return (
        f"\nSome rows may be in the queue already. The batchId is {batch_id!r}. To go on, {first}write again with "
        "option batchId set to it."
    )


def _arguments(options: WriteOptions) -> dict[str, Any]:
    return {
        "name": options.name,
        "name_column": options.name_column,
        "data": options.data_columns,
        "job_id": options.job_id_column,
        "opts": _job_options(options),
        "opts_column": options.opts_column,
        "priority_column": options.priority_column,
        "delay_column": options.delay_column,
        "parent_column": options.parent_column,
        "longs_as_strings": options.longs_as_strings,
        "on_invalid": options.on_invalid_row,
        "on_oom": options.on_oom,
        "max_waiting": options.max_waiting,
    }


def _roles(options: WriteOptions) -> dict[str, tuple[str, str]]:
    """Return the columns that are a part of each job other than its data: option -> what it is, column."""
    named = {
        "nameColumn": ("name", options.name_column),
        "jobIdColumn": ("job_id", options.job_id_column),
        "optsColumn": ("opts_column", options.opts_column),
        "priorityColumn": ("priority", options.priority_column),
        "delayColumn": ("delay", options.delay_column),
        "parentColumn": ("parent", options.parent_column),
    }
    return {option: (role, column) for option, (role, column) in named.items() if column is not None}


def _data(options: WriteOptions) -> list[tuple[str, str]]:
    return [("dataColumns", column) for column in options.data_columns or ()]


def _job_options(options: WriteOptions) -> Any:
    """Return the options of all jobs with the names of `bullrush.job.options.JobOptions`.

    Those of BullMQ are known too.
    """
    return None if options.opts is None else read_options(options.opts)
