"""Request and reply: the rows of a DataFrame become jobs, and each row gets the result of its job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from bullrush.errors import InvalidOptionError, JobFailedError
from bullrush.extending import Duration, OptionCompiler, checks, options_by_name
from bullrush.job import JobOptions
from bullrush.spark.address import Address, check_redis
from bullrush.spark.enqueue import failure_of
from bullrush.spark.reading.columns import spark_schema
from bullrush.spark.rows.frame import check_frame, check_name_lists, check_names, check_opts
from bullrush.spark.rows.scope import scope_of
from bullrush.spark.tasks.answer_rows import ERROR, RESULT, AnswerRows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_NAME_COLUMN: Final = "__bullrush_name"
_TIMEOUT: Final = 300_000


@options_by_name
def call(
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
    in_flight: int = 2000,
    timeout: Duration = _TIMEOUT,
    returns: str | StructType | None = None,
    on_error: Literal["column", "raise"] = "column",
) -> DataFrame:
    """Add one job per row, wait until workers have run them, and return the rows with the results of their jobs.

    The workers are anybody's: Node services, Python services, `drain` in another program. They need not know of this
    call. Each task has at most ``in_flight`` unfinished jobs, so the queue stays short however many rows there are.
    Results are read from the jobs, not from events, so nothing is missed while Redis or a network is away.

    The jobs run during this call, once. Actions on the result use the stored rows (``persist``), until you call
    ``unpersist()`` on it. A task that Spark runs again, also because its executor died with the stored rows, finds its
    jobs by their ids and reads their results again. So finished jobs are kept, unless ``opts`` has another rule; a rule
    that removes them at once is refused.

    Args:
        df: the rows. They keep their order inside each partition.
        queue: the queue's name.
        url: the URL of Redis for the executors; ``env:NAME`` and ``file:/path`` are read there. The default is that of
            `Queue`.
        prefix: the prefix of the queue's keys, ``bull`` by default.
        name: the job names: a column of ``df`` by name, a Column, or one name for all jobs. The queue's name by
            default.
        data: the columns that become the job's data; all by default.
        job_id: the column with the job ids, as for `enqueue`. A row whose job exists already adds none and gets that
            job's result.
        batch_id: part of automatic ids; in ``foreachBatch`` made from the query and the micro-batch, elsewhere random.
            A second call with the same batch id, rows and partitions runs nothing again and reads the results.
        opts: the options of all jobs, as for ``Queue.add``.
        in_flight: how many unfinished jobs a task may have; at least 1.
        timeout: how long a job may take from when it was added, in ms or as a timedelta; 5 minutes. Such a job stays in
            the queue.
        returns: columns to read from each result, as a Spark schema: ``"score double, label string"``, or a StructType.
            They are read by name from an object; a single column also takes a result that is no object.
        on_error: ``column`` puts the reasons of failed, late and removed jobs into the column ``error``; ``raise``
            raises an error after all jobs have ended, if there is one.

    Returns:
        The columns of ``df``, those of ``returns`` (without it ``result``, a JSON text), and ``error``, null for a job
        that completed.

    Raises:
        InvalidOptionError: an option or a column is wrong; nothing was added.
        ConnectionLostError, RedisServerError: the driver cannot use Redis; nothing was added. In ``foreachBatch``, and
            where only the executors know the URL, the tasks find out.
        EnqueueError: a task failed. Jobs may have been added and run; the error has the batch id to go on with.
        JobFailedError: with ``on_error="raise"``: a row has no result; the message has the first reason and the number
            of such rows.

    Redis:
        Per job one add and one to two HMGET in pipelines; per task at most 500 HMGET per second while it waits.
    """
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType, StructType

    check_frame(df)
    check_name_lists({"data": data})
    check_names({"job_id": job_id})
    check_opts({"opts": opts})
    columns = _checked_columns(df, data, job_id)
    if on_error not in ("column", "raise"):
        raise InvalidOptionError(f"on_error must be 'column' or 'raise', not {on_error!r}")
    checks.at_least(1)("in_flight", in_flight)
    seconds = checks.positive_milliseconds("timeout", timeout) / 1000
    answers = _answer_columns(df, returns)
    if taken := set(columns) & {"error", *(answers or ("result",))}:
        raise InvalidOptionError(f"The rows have a column {taken.pop()!r} already: rename it, since the answer has one")
    name_column = None
    rows = df
    if isinstance(name, str) and name in columns:
        name, name_column = None, name
    elif name is not None and not isinstance(name, str):
        rows = df.withColumn(_NAME_COLUMN, name.cast("string"))
        name, name_column, data = None, _NAME_COLUMN, data or columns
    address = Address.on_driver(queue, url, prefix)
    scope = scope_of(df, address, batch_id)
    check_redis([address], in_stream=scope.in_stream)
    answer = AnswerRows(
        address,
        rows.columns,
        name,
        name_column,
        data,
        job_id,
        scope.batch_id,
        _kept(opts),
        in_flight,
        seconds,
    )
    rows = rows.toDF(*(f"c{number}" for number in range(len(rows.columns))))  # Spark cannot map dotted names
    schema = StructType([*rows.schema.fields]).add(RESULT, StringType()).add(ERROR, StringType())
    answered = rows.mapInArrow(answer, schema)
    result, error = f.col(RESULT), f.col(ERROR).alias("error")
    kept = [f.col(f"c{number}").alias(column) for number, column in enumerate(columns)]
    typed = _typed(result, returns, answers) if returns else [result.alias("result")]
    answered = answered.select(*kept, *typed, error).persist()
    outcome = answered.agg(f.count("*"), f.count("error"), f.first("error", ignorenulls=True))
    try:
        # One pass over all rows: the jobs run now, and the rows are stored.
        total, failed, reason = outcome.collect()[0]
    except Exception as error:
        answered.unpersist()
        # Automatic ids have the number of the partition.
        raise failure_of(error, scope._replace(by_partition=job_id is None)) from error
    if failed and on_error == "raise":
        answered.unpersist()
        raise JobFailedError(
            f"{failed:,} of {total:,} rows have no result (queue {queue}, batch id {answer.scope}); one reason: "
            f"{reason}"
        )
    return answered


def _checked_columns(df: DataFrame, data: Sequence[str] | None, job_id: str | None) -> list[str]:
    columns = list(df.columns)
    if twins := [column for column in columns if columns.count(column) > 1]:
        raise InvalidOptionError(f"Two columns are named {twins[0]!r}")
    for column in [*(data or ()), *([job_id] if job_id is not None else ())]:
        if column not in columns:
            raise InvalidOptionError(f"No column {column!r}; there are {', '.join(columns)}")
    return columns


def _kept(opts: JobOptions | None) -> JobOptions:
    """Return the options of the jobs, with a rule that keeps them: a worker's own rule may remove them at once."""
    OptionCompiler(opts).compile({})
    for option in ("remove_on_complete", "remove_on_fail"):
        rule = (opts or {}).get(option)
        count = rule.get("count") if isinstance(rule, dict) else rule
        if count is True or (count is not None and count is not False and count == 0):
            raise InvalidOptionError(f"call() reads results from finished jobs: {option}={rule!r} removes them at once")
    return {"remove_on_complete": False, "remove_on_fail": False, **(opts or {})}


def _answer_columns(df: DataFrame, returns: str | StructType | None) -> list[str]:
    return spark_schema(df.sparkSession, returns, "returns").names if returns else []


def _typed(result: Column, returns: str | StructType, names: Sequence[str]) -> list[Any]:
    from pyspark.sql import functions as f

    if len(names) == 1:
        wrapped = f.concat(f.lit(f"{{{json.dumps(names[0])}:"), result, f.lit("}"))
        result = f.when(result.startswith("{"), result).otherwise(wrapped)
    return [f.from_json(result, returns).getField(name).alias(name) for name in names]
