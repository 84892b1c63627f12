"""The jobs of a queue as a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from bullrush.arrow import ArrowReader, plan_windows
from bullrush.errors import InvalidOptionError
from bullrush.extending import FINISHED, checks, options_by_name
from bullrush.spark.address import Address, check_redis
from bullrush.spark.reading.columns import arrow_schema, read_schema
from bullrush.spark.rows.frame import check_session
from bullrush.spark.servers import of_each_server
from bullrush.spark.tasks.read_windows import ReadWindows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


@options_by_name
def read_jobs(
    spark: SparkSession,
    queue: str,
    *,
    states: Sequence[str] = FINISHED,
    finished_after: datetime | int | None = None,
    processed_by: str | None = None,
    schema: str | StructType | None = None,
    url: str | None = None,
    urls: Sequence[str] | None = None,
    prefix: str | None = None,
    partitions: int = 8,
) -> DataFrame:
    """Return the jobs of a queue as a DataFrame, one row per job.

    The driver cuts the jobs into windows, the executors read them. Every job that was completed or had failed before
    this call is in the frame exactly once. Jobs of other states may move while they are read: such a job may be there
    twice or not at all. Each action reads the same windows again; ``persist()`` keeps the rows. Jobs that were removed
    meanwhile are left out, and ``state`` is that of the moment when the job was read.

    Works with Spark Connect and from PySpark 3.5 on.

    Args:
        spark: the session.
        queue: the queue's name.
        states: completed, failed, waiting (with the jobs of a paused queue), paused, active, delayed, prioritized,
            waiting-children.
        finished_after: only jobs that finished later: a datetime (without a zone it is local time), or ms since 1970.
        processed_by: only jobs that the worker with this name has processed, or the workers of the `drain` whose
            ``run`` has this name.
        schema: the columns, as a Spark schema or a StructType; `bullrush.arrow.ArrowReader` describes them. ``data``
            and ``returnvalue`` are JSON texts, or anything that is read from them: ``"jobId string, data struct<to:
            string>, returnvalue double, _corrupt string"``. By default all columns, with JSON as text.
        url: the URL of Redis, for the driver and the executors; ``env:NAME`` and ``file:/path`` are read on each. The
            default is that of `Queue`.
        urls: instead of ``url``: several servers. The rows have the column ``server``, since ids repeat over servers.
        prefix: the prefix of the queue's keys, ``bull`` by default.
        partitions: at most how many tasks read.

    Raises:
        InvalidOptionError: a state or a column does not exist, the schema is wrong, or ``finished_after`` is given for
            jobs that are not finished.
        ConnectionLostError, RedisServerError: the driver cannot use Redis.

    Redis:
        On the driver two pipelines of short commands; on the executors one ZRANGEBYSCORE or LRANGE per 5,000 jobs and
        one HMGET per job, of just the fields that the columns need.
    """
    check_session("read_jobs", spark)
    checks.at_least(1)("partitions", partitions)
    if processed_by is not None:
        checks.text("processed_by", processed_by)
    after = _milliseconds(finished_after)
    columns = read_schema(spark, schema)
    addresses = Address.of_servers(queue, url, urls, prefix)
    check_redis(addresses)

    def read(address: Address, _place: int) -> DataFrame:
        with address.open() as opened:
            ArrowReader(opened, wanted := arrow_schema(columns))  # checks the types of the columns
            parts = plan_windows(opened, states, partitions, finished_after=after)
        numbers = spark.range(0, len(parts), 1, max(1, len(parts)))
        return numbers.mapInArrow(ReadWindows(address, wanted, parts, processed_by), columns)

    return read(addresses[0], 0) if urls is None else of_each_server(addresses, read)


def _milliseconds(moment: datetime | int | None) -> int | None:
    if isinstance(moment, datetime):
        return int(moment.timestamp() * 1000)
    if moment is not None and (not isinstance(moment, int) or isinstance(moment, bool)):
        raise InvalidOptionError(f"finished_after is a datetime or ms since 1970, not {moment!r}")
    return moment
