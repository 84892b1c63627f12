"""Executors work a queue until it is drained; what they got becomes a DataFrame."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

from bullrush.errors import InvalidOptionError
from bullrush.spark.partition import worker
from bullrush.spark.results import SCHEMA, JobResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Enough rows that every default partition has one.
_SEEDS: Final = 10_000


def drain(
    spark: SparkSession,
    queue: str,
    handler: Callable[[Any], Any] | None = None,
    *,
    url: str | None = None,
    prefix: str | None = None,
    workers: int | None = None,
    concurrency: int = 1,
    until: Literal["empty", "drained"] | None = "drained",
    max_jobs: int | None = None,
    max_seconds: float | None = None,
    horizon: int = 60_000,
    returns: str | None = None,
    **options: Any,
) -> DataFrame:
    """Work a queue on the executors, wait for the end, and return what became of its jobs.

    The jobs run once, during this call; the DataFrame holds their results and may be used any number of times. The jobs that
    an executor held when it died run again, on whichever worker is still there: their locks have to expire first, which
    ``until="drained"`` waits for. Rows of a task that did not end are lost with it, while the results of its jobs are in
    Redis like all others.

    Args:
        spark: the session.
        queue: the queue's name.
        handler: called with each job, as for `Worker`: ``def`` or ``async def``. Leave it out to give ``batch_handler``.
        url: where Redis is, as seen from the executors; ``env:NAME`` and ``file:/path`` are read there. Default as for `Queue`.
        prefix: the prefix of the queue's keys, ``bull`` by default.
        workers: how many workers, one per task; as many as Spark runs at a time by default.
        concurrency: jobs that one worker runs at a time.
        until: ``drained`` waits for jobs of other workers too, and for what is due within ``horizon``; ``empty`` ends when
            there is nothing to take; None goes on until ``max_jobs`` or ``max_seconds``.
        max_jobs: per worker, the number of jobs after which it ends.
        max_seconds: per worker, the time after which it ends.
        horizon: ms ahead that count as due.
        returns: columns to take out of each result, in Spark's words: ``"score double, label string"``. They are read by name
            from a returned dict; a single column also takes a result that is no dict. Null where the job failed.
        options: more options of `Worker`: ``batch_handler``, ``batch_size``, ``lock_duration``, ``limiter``...

    Returns:
        One row per job with ``jobId, name, state, result (JSON), error, attempts, ms``, then the columns of ``returns``.

    Raises:
        InvalidOptionError: no way to end was given, or an option is wrong.
    """
    typed = _typed_columns(spark, returns) if returns else []
    partition = worker(
        queue,
        handler,
        url=url,
        prefix=prefix,
        concurrency=concurrency,
        until=until,
        max_jobs=max_jobs,
        max_seconds=max_seconds,
        horizon=horizon,
        **options,
    )
    seeds = spark.range(0, workers, 1, workers) if workers else spark.range(_SEEDS)
    # Materialised now and cut from its lineage: no action on the result can run the workers again.
    results = seeds.mapInArrow(partition, SCHEMA).localCheckpoint(eager=True)
    return results.select("*", *typed) if typed else results


def _typed_columns(spark: SparkSession, returns: str) -> list[Any]:
    from pyspark.sql import functions as f

    names = spark.createDataFrame([], returns).columns
    if taken := set(names) & set(JobResult._fields):
        raise InvalidOptionError(f"returns cannot have a column {taken.pop()!r}: the results have one")
    result = f.col("result")
    if len(names) == 1:
        wrapped = f.concat(f.lit(f"{{{json.dumps(names[0])}:"), result, f.lit("}"))
        result = f.when(result.startswith("{"), result).otherwise(wrapped)
    return [f.from_json(result, returns).getField(name).alias(name) for name in names]
