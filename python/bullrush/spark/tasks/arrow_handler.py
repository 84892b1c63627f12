"""Handlers for whole batches of jobs as Arrow data: models that compute with columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from bullrush.arrow import json_as_rows, rows_as_json
from bullrush.errors import InvalidOptionError
from bullrush.extending import is_async
from bullrush.spark.reading.columns import arrow_schema, spark_schema

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

    from bullrush.job import Job


def arrow_handler(
    function: Callable[[pyarrow.RecordBatch], Any],
    *,
    input: str | StructType | pyarrow.Schema,
    error: str | None = None,
) -> ArrowHandler:
    """Return a ``batch_handler`` that passes the data of many jobs to a function as one Arrow batch.

    ``drain(spark, "score", batch_handler=arrow_handler(model, input="x double, y double"))`` calls ``model`` with
    batches of up to 1,000 rows, or ``batch_size``; so does ``Worker("score", batch_handler=..., batch_size=1000)``. The
    function returns one row per job, in the same order. Each row is the result of its job: a JSON object, with the
    rules of `bullrush.arrow.ArrowWriter`.

    A job whose data do not fit the schema fails alone; the function does not see it. If the function raises, or returns
    another number of rows, all jobs of the batch fail with that error. Jobs that failed are retried as their options
    say.

    Args:
        function: takes a `pyarrow.RecordBatch`; returns a batch, a table or other Arrow data, or a dict of columns,
            which may be numpy arrays.
        input: the fields of the data that become columns: a Spark schema such as ``"x double, tags array<string>"``, a
            StructType, or a `pyarrow.Schema`. A job without a field that is ``not null`` fails alone.
            `bullrush.arrow.ArrowReader` describes how JSON is read.
        error: a column of the returned rows: where it is not null, the job fails with this text. It is no part of the
            results.

    Raises:
        InvalidOptionError: the schema is wrong, has no fields, or the function is a coroutine function.
    """
    if not callable(function) or is_async(function):
        raise InvalidOptionError(f"An Arrow handler must be a plain function, not {function!r}")
    schema = _schema(input)
    json_as_rows([], schema)  # refuses types that cannot be read, now and not in a task
    return ArrowHandler(function, schema, error)


class ArrowHandler:
    """The result of `arrow_handler`. It can be pickled if the function can."""

    def __init__(
        self, function: Callable[[pyarrow.RecordBatch], Any], schema: pyarrow.Schema, error: str | None
    ) -> None:
        self._function = function
        self._schema = schema
        self._error = error

    def __call__(self, jobs: Sequence[Job]) -> list[Any]:
        """Return a result or an exception for each job."""
        batch, unfit = json_as_rows([job._record.data for job in jobs], _top_nullable(self._schema))
        results: list[Any] = [None] * len(jobs)
        for place in unfit:
            results[place] = InvalidOptionError(f"The job's data do not fit the schema {_text(self._schema)}")
        for field, column in zip(self._schema, batch.columns, strict=True):
            for place in range(len(jobs)) if column.null_count and not field.nullable else ():
                if results[place] is None and not column[place].is_valid:
                    results[place] = InvalidOptionError(
                        f"The field {field.name!r} is missing or null in the job's data"
                    )
        fit = [place for place in range(len(jobs)) if results[place] is None]
        if fit:
            kept = (batch if len(fit) == len(jobs) else batch.take(fit)).cast(self._schema)
            for place, result in zip(fit, self._run(kept), strict=True):
                results[place] = result
        return results

    def _run(self, batch: pyarrow.RecordBatch) -> list[Any]:
        import pyarrow as pa

        returned = self._function(batch)
        table = pa.table(dict(returned)) if isinstance(returned, Mapping) else pa.table(returned)
        if table.num_rows != batch.num_rows:
            raise ValueError(
                f"An Arrow handler returns one row per job: {batch.num_rows} jobs, got {table.num_rows} rows"
            )
        if self._error is None:
            return [orjson.loads(row) for row in rows_as_json(table)]
        reasons = table.column(self._error).to_pylist()
        rows = rows_as_json(table, [name for name in table.column_names if name != self._error])
        pairs = zip(rows, reasons, strict=True)
        return [orjson.loads(row) if reason is None else RuntimeError(str(reason)) for row, reason in pairs]


def _schema(given: str | StructType | pyarrow.Schema) -> pyarrow.Schema:
    import pyarrow as pa

    if isinstance(given, str):
        session = _active_session()
        if session is None:
            raise InvalidOptionError("A Spark schema as text needs a session: start it first, or give a pyarrow.Schema")
        given = arrow_schema(spark_schema(session, given, "input"))
    elif hasattr(given, "fieldNames"):  # a StructType; plain workers have no PySpark to ask
        given = arrow_schema(given)
    if not isinstance(given, pa.Schema) or not given.names:
        raise InvalidOptionError(f"input must be a schema with at least one field, not {given!r}")
    return given


def _top_nullable(schema: pyarrow.Schema) -> pyarrow.Schema:
    import pyarrow as pa

    return pa.schema([field.with_nullable(True) for field in schema])


def _active_session() -> Any:
    from pyspark.sql.utils import is_remote

    if is_remote():
        from pyspark.sql.connect.session import SparkSession as RemoteSession

        return RemoteSession.getActiveSession()
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _text(schema: pyarrow.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
