"""Running the jobs of a queue on the executors; the results become a DataFrame."""

from __future__ import annotations

import json
import logging
import math
import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from bullrush.errors import DrainError, InvalidOptionError, QueuePausedError
from bullrush.extending import checks
from bullrush.routing import Profile
from bullrush.spark.address import Address, NamingServer
from bullrush.spark.draining.arguments import check_choice, check_results_stay, check_worker, read_stop, worker_options
from bullrush.spark.draining.driver_queries import ask, look
from bullrush.spark.draining.rounds import Rounds, seeds
from bullrush.spark.draining.run_rows import QUEUE, WORKER, Piece, RunRows, divided
from bullrush.spark.draining.run_worker import RunWorker
from bullrush.spark.partition import PartitionWorker
from bullrush.spark.reading.columns import arrow_schema, parse_schema
from bullrush.spark.results import JOB_COLUMNS, PROFILE
from bullrush.spark.root_cause import root_cause
from bullrush.spark.routing.unmatched import check_matched
from bullrush.spark.rows.frame import check_session
from bullrush.spark.servers import divided_workers, of_each_server

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: About how many results one task reads, if there are many.
_PART: Final = 50_000
_SMALLEST_PART: Final = 5_000

_log: Final = logging.getLogger("bullrush")


def drain(
    spark: SparkSession,
    queue: str,
    handler: Callable[[Any], Any] | None = None,
    *,
    url: str | None = None,
    urls: Sequence[str] | None = None,
    prefix: str | None = None,
    workers: int | None = None,
    concurrency: int = 1,
    until: Literal["empty", "drained"] | None = "drained",
    max_jobs: int | None = None,
    max_seconds: float | None = None,
    horizon: int = 60_000,
    returns: str | StructType | None = None,
    data: bool = False,
    results: Literal["redis", "tasks"] = "redis",
    paused: Literal["error", "wait"] = "error",
    profile: Profile | Callable[[], Profile] | None = None,
    **options: Any,
) -> DataFrame:
    """Run the jobs of a queue on the executors, wait for the end, and return the results.

    The jobs run during this call. Redis lists which jobs the call finished (a *run*, see the option ``run`` of
    `WorkerOptions`), and the DataFrame reads their results from Redis, again at each action. So no result is lost with
    an executor. A job has one row for each time that the call finished it: once, unless somebody retried or added it
    again during the call. A row with the state ``removed`` has no result any more: the job was removed, by its options
    or by somebody, or it was run again by a worker that is not of this run. The list lives for 7 days; cache or write
    results that you need longer.

    If an executor dies, or Spark ends one of two copies of a task, its running jobs run again when their locks have
    expired. When all tasks have ended, the driver looks for such jobs and starts another round of tasks, until none is
    left: also with ``until="empty"``. It starts no round after ``max_seconds``, and with ``max_jobs`` a round only runs
    as many jobs as were left.

    Args:
        spark: the session.
        queue: the queue's name.
        handler: called with each job, as for `Worker`: ``def`` or ``async def``. Leave it out to give
            ``batch_handler``.
        url: the URL of Redis for the executors; ``env:NAME`` and ``file:/path`` are read there. The default is that of
            `Queue`. The driver uses it, too, except where it does not know that variable or file: then it asks Redis
            through tasks.
        urls: instead of ``url``: several servers, which are drained at the same time. The rows have the column
            ``server``, since ids repeat over servers.
        prefix: the prefix of the queue's keys, ``bull`` by default.
        workers: how many workers, one per task, of all servers together; by default as many as Spark runs at the same
            time.
        concurrency: how many jobs one worker runs at the same time.
        until: ``drained`` also waits for jobs on other workers and for jobs that are due within ``horizon``; ``empty``
            ends when there is nothing to take; None goes on until ``max_jobs`` or ``max_seconds``.
        max_jobs: per worker, the number of jobs after which it ends.
        max_seconds: per worker, the time in seconds after which it ends. Handlers may go on for one ``lock_duration``
            more. Then the call ends without them: a warning in the log ``bullrush`` names their jobs, which go back to
            the queue when their locks have expired.
        horizon: ms; jobs that are due within this time count for ``until="drained"``. Later ones stay in the queue.
        returns: columns to read from each result, as a Spark schema: ``"score double, label string"``, or a StructType.
            They are read by name from a dict; a single column also takes a result that is no dict. They are null if the
            job failed, or where a value does not fit.
        data: True adds the column ``data``, the job's data as JSON.
        results: ``redis`` as described. ``tasks``: the tasks collect the results and Spark keeps them on the executors;
            what a task that died had collected is lost, and all of it when the executors have gone. Use this if jobs
            are removed when they finish.
        paused: ``error``: a paused queue is an error, before and during the call. ``wait``: the workers wait.
        profile: what the workers have, as for `Worker`: they also run the jobs of the routes that match. A dict for all
            workers; or a function without arguments, which each task calls: with
            ``TaskContext.get().resources()`` it finds the GPUs that Spark gave to the task. ``until="drained"`` then
            waits for all routes, also for those that no worker matches; give ``max_seconds``.
        options: more options of `Worker`: ``batch_handler``, ``batch_size`` (1,000 for an `arrow_handler`),
            ``lock_duration``, ``limiter``... With ``run`` the run has this name; calls at the same time need different
            ones, since each returns the jobs of both.

    Returns:
        One row per finished job with ``jobId, name, state, result (JSON), error, attempts, ms``, then ``data``, then
        the columns of ``returns``. ``ms`` is the time from the start of the last attempt to its stored result; with
        ``tasks`` it is the time in the handler. With ``profile`` the column ``queue``, after ``ms``, is the queue of
        the job: the base or a route. Ids are per queue.

    Raises:
        InvalidOptionError: an option is wrong, none of ``until``, ``max_jobs`` and ``max_seconds`` is given, there is
            no handler, it cannot be sent to the executors, or ``remove_on_complete`` or ``remove_on_fail`` would remove
            the results before they are read.
        QueueNameError: the queue's name cannot be used.
        QueuePausedError: the queue is paused.
        ConnectionLostError, RedisServerError: the driver cannot use Redis.
        DrainError: the tasks failed; or ``max_seconds`` was over while jobs waited in routes that no worker matches.
            With ``results="redis"`` it has the name of the run, whose results are in Redis.

    Redis:
        The results: per 5,000 jobs one LRANGE, and per job one HMGET in pipelines.
    """
    check_session("drain", spark)
    addresses = Address.of_servers(queue, url, urls, prefix)
    stop = read_stop(until, max_jobs, max_seconds, horizon)
    if workers is not None:
        checks.at_least(1)("workers", workers)
    checks.boolean("data", data)
    check_choice("results", results, ("redis", "tasks"))
    check_choice("paused", paused, ("error", "wait"))
    options = worker_options({"concurrency": concurrency, **options}, profile)
    if results == "redis":
        check_results_stay(options)
        if "name" in options:
            raise InvalidOptionError("drain names its workers itself; give name= only with results='tasks'")
    elif data:
        raise InvalidOptionError("data=True needs results='redis'")
    check_worker("drain", addresses[0], handler, options)
    routes = profile is not None
    own = [*JOB_COLUMNS, *([QUEUE] if routes else []), *(["data"] if data else [])]
    typed = None if returns is None else _typed_columns(spark, returns, own)

    run = options.pop("run", None) or uuid.uuid4().hex[:16] if results == "redis" else ""
    shares = [workers] if urls is None else divided_workers(spark, workers, len(addresses))
    starts: list[dict[str, int]] = []
    for place, address in enumerate(addresses):
        with NamingServer(addresses, place):
            start, paused_name = ask(spark, address, look, run, routes)
            if paused_name and paused == "error":
                raise QueuePausedError(f"queue {paused_name!r} is paused: resume it, or give paused='wait'")
        if paused_name:
            _log.info("drain of %s waits: the queue is paused", paused_name)
        starts.append(start)

    def drained(address: Address, place: int) -> DataFrame:
        if results == "tasks":
            rows = _computed(
                spark, PartitionWorker(address, handler, options, stop, tells_profile=routes), shares[place]
            )
            return _with_json_columns(rows, returns, typed) if returns and typed else rows
        waits = paused == "wait"
        rounds = Rounds(spark, RunWorker(address, handler, options, stop, run, waits=waits), shares[place])
        rounds.run()
        ends, _ = ask(spark, address, look, run, routes)
        pieces = [Piece(name, starts[place].get(name, 0), end) for name, end in ends.items()]
        count = sum(max(0, piece.stop - piece.start) for piece in pieces)
        parts = max(1, min(math.ceil(count / _SMALLEST_PART), max(rounds.tasks, math.ceil(count / _PART))))
        read = divided(pieces, math.ceil(count / parts))
        schema = _plain_columns(own)
        columns, more = arrow_schema(schema), arrow_schema(typed) if typed else None
        reader = RunRows(address, run, read, columns, more)
        for column in typed or ():
            schema.add(column)
        return spark.range(0, len(read), 1, len(read)).mapInArrow(reader, schema)

    return drained(addresses[0], 0) if urls is None else of_each_server(addresses, drained)


def _computed(spark: SparkSession, work: PartitionWorker, workers: int | None) -> DataFrame:
    """Run the workers, and return the results that their tasks collected.

    Raises:
        DrainError: the tasks failed, or jobs of routes that none of them matches were left when the time was over.
    """
    address, stop = work.address, work.stop
    began = time.monotonic()
    # Computed now and cut from its lineage, so that no action on the result runs the workers again.
    try:
        rows = seeds(spark, workers).mapInArrow(work, work.schema).localCheckpoint(eager=True)
    except Exception as error:  # of Spark, about its tasks
        raise DrainError(f"the tasks on queue {address.name!r} failed: {root_cause(error)}") from error
    if not work.has_routes:
        return rows
    limit = stop["max_seconds"]
    if limit is not None and stop["until"] == "drained" and time.monotonic() - began >= limit:
        profiles = rows.filter(f"state = '{PROFILE}'").select("error").distinct().collect()
        check_matched(spark, address, stop["horizon"], [row.error for row in profiles], "")
    return rows.filter(f"state <> '{PROFILE}'")


def _plain_columns(names: Sequence[str]) -> StructType:
    from pyspark.sql import types as t

    kinds = {"attempts": t.LongType(), "ms": t.DoubleType()}
    return t.StructType([t.StructField(name, kinds.get(name, t.StringType())) for name in names])


def _typed_columns(spark: SparkSession, returns: str | StructType, names: Sequence[str]) -> StructType:
    typed = parse_schema(spark, returns, "returns")
    own = {name.lower(): name for name in (*names, WORKER)}
    for name in typed.names:
        if name.lower() in own:
            raise InvalidOptionError(
                f"returns cannot have a column {name!r}: jobs have {own[name.lower()]!r} themselves"
            )
    return typed


def _with_json_columns(rows: DataFrame, returns: str | StructType, typed: StructType) -> DataFrame:
    from pyspark.sql import functions as f

    result = f.col("result")
    if len(typed.names) == 1:
        wrapped = f.concat(f.lit(f"{{{json.dumps(typed.names[0])}:"), result, f.lit("}"))
        result = f.when(result.startswith("{"), result).otherwise(wrapped)
    return rows.select("*", *(f.from_json(result, returns).getField(name).alias(name) for name in typed.names))
