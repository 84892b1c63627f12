"""Running the jobs of a queue on the executors; the results become a DataFrame."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

from bullrush.errors import InvalidOptionError
from bullrush.spark.partition import worker
from bullrush.spark.results import SCHEMA, JobResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Enough rows for every default partition.
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
    """Run the jobs of a queue on the executors, wait for the end, and return the results.

    The jobs run once, during this call; the DataFrame can then be used any number of times. If an executor dies, its
    running jobs run again on another worker when their locks have expired; ``until="drained"`` waits for that. The rows
    of a task that died are lost; the results of its jobs are in Redis like all others.

    Args:
        spark: the session.
        queue: the queue's name.
        handler: called with each job, as for `Worker`: ``def`` or ``async def``. Leave it out to give
            ``batch_handler``.
        url: the URL of Redis for the executors; ``env:NAME`` and ``file:/path`` are read there. The default is that of
            `Queue`.
        prefix: the prefix of the queue's keys, ``bull`` by default.
        workers: how many workers, one per task; by default as many as Spark runs at the same time.
        concurrency: how many jobs one worker runs at the same time.
        until: ``drained`` also waits for jobs on other workers and for jobs that are due within ``horizon``; ``empty``
            ends when there is nothing to take; None goes on until ``max_jobs`` or ``max_seconds``.
        max_jobs: per worker, the number of jobs after which it ends.
        max_seconds: per worker, the time in seconds after which it ends.
        horizon: ms; jobs that are due within this time count for ``until="drained"``.
        returns: columns to read from each result, as a Spark schema: ``"score double, label string"``. They are read by
            name from a dict; a single column also takes a result that is no dict. They are null if the job failed.
        options: more options of `Worker`: ``batch_handler``, ``batch_size``, ``lock_duration``, ``limiter``...

    Returns:
        One row per job with ``jobId, name, state, result (JSON), error, attempts, ms``, then the columns of
        ``returns``.

    Raises:
        InvalidOptionError: an option is wrong, or none of ``until``, ``max_jobs`` and ``max_seconds`` is given.
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
    # Computed now and cut from its lineage, so that no action on the result runs the workers again.
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
