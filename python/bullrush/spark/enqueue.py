"""Adding the rows of a DataFrame as jobs. The core encodes them from Arrow, on the executors."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from bullrush.errors import EnqueueError
from bullrush.extending import check_choice, checks, options_by_name
from bullrush.job import JobOptions, ParentOptions
from bullrush.routing import Target
from bullrush.spark.address import Address, check_redis
from bullrush.spark.root_cause import root_cause
from bullrush.spark.rows.division import divide_by_content
from bullrush.spark.rows.plan import plan_rows
from bullrush.spark.rows.scope import Scope, scope_of
from bullrush.spark.servers import with_place
from bullrush.spark.tasks.add_rows import COUNTS, AddRows
from bullrush.spark.tasks.batch_counts import COUNTED, ReadCounts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: Errors that come again with the same rows and options.
_OF_ROWS: Final = (
    "InvalidOptionError",
    "UnknownOptionError",
    "DataError",
    "TooLargeError",
    "ParentNotFoundError",
    "RouteLimitError",
    "RouteCollisionError",
)


class EnqueueStats(NamedTuple):
    """What an `enqueue` did.

    Attributes:
        added: the jobs that Redis really added in this call, also where tasks failed and were repeated.
        duplicates: the rows whose job existed before the call, or is that of another row.
        seconds: the time of the call.
        batch_id: the id of the batch. A call that repeats it adds only the rows that are missing.
        skipped: the rows that cannot be jobs, with ``on_invalid="skip"``.
        routes: how many jobs were added to each queue by its name: to the base, and to each route that rows have.
    """

    added: int
    duplicates: int
    seconds: float
    batch_id: str
    skipped: int = 0
    routes: Mapping[str, int] = MappingProxyType({})


@options_by_name
def enqueue(
    df: DataFrame,
    queue: str,
    *,
    url: str | None = None,
    urls: Sequence[str] | None = None,
    prefix: str | None = None,
    name: str | Column | None = None,
    data: Sequence[str] | None = None,
    job_id: str | None = None,
    batch_id: str | None = None,
    opts: JobOptions | None = None,
    opts_column: str | Column | None = None,
    priority: str | Column | int | None = None,
    delay: str | Column | int | timedelta | None = None,
    parent: str | Column | ParentOptions | None = None,
    target: str | Column | Target | None = None,
    longs_as_strings: bool = False,
    on_invalid: Literal["fail", "skip"] = "fail",
    on_oom: Literal["fail", "wait"] = "fail",
    durable: bool | Literal["replica", "aof"] = False,
    max_waiting: int | None = None,
) -> EnqueueStats:
    """Add one job per row, and wait until all are in Redis.

    A task that Spark retries or runs twice adds no job twice, since its rows get the same ids again. This needs the
    jobs of the first attempt to be in Redis still: be careful with ``remove_on_complete``. The rows may come in another
    order, but they must be the same rows; a DataFrame with random content needs ``job_id``.

    Args:
        df: the rows.
        queue: the queue's name.
        url: the URL of Redis for the executors; ``env:NAME`` and ``file:/path`` are read there. The default is that of
            `Queue`.
        urls: instead of ``url``: several servers. Each row goes to one of them, by its parent's id, its own id or its
            content. The list and its order are part of the batch; ``max_waiting`` counts for each server.
        prefix: the prefix of the queue's keys, ``bull`` by default.
        name: the job names: a column of ``df`` by name, a Column, or one name for all jobs. The queue's name by
            default.
        data: the columns that become the job's data; all by default. `bullrush.arrow.ArrowWriter` describes the JSON.
        job_id: the column with the job ids, strings or integers; ``17`` in a column ``order`` becomes ``order-17``.
            Without it ids are made from the batch id and the content of the row, with its name.
        batch_id: names what is added, such as ``str(date.today())``: 1 to 200 characters, without colons and control
            characters. Calls with the same batch id and rows add each row once, with any number of partitions. A row
            with changed content is a new row, unless there is ``job_id``. In ``foreachBatch`` it is made from the
            streaming query and the micro-batch; elsewhere it is new for each call.
        opts: the options of all jobs, as for ``Queue.add``.
        opts_column: more options for each row: a column of structs or JSON texts, with the names of `JobOptions`. They
            take precedence over ``opts``; null is none.
        priority: a column with the priority of each row, or one for all.
        delay: a column with the delay of each row, in ms or as an interval; or one for all.
        parent: a column with the parent of each row: a struct of ``id`` and ``queue`` (with the prefix), or the id of a
            job of the same queue; or one for all, as a dict.
        target: what the worker of a job must have: a column of structs with the fields of `Target`, null is none; or
            one target for all, as a dict. The rows are added to the routes of their targets. Their ids stay those of
            the row; ids and counts are those of the route. With a target, ``parent`` needs ``id`` and ``queue``.
        longs_as_strings: write ``bigint`` values as strings, since Node rounds numbers beyond 2^53.
        on_invalid: ``skip`` leaves out rows that cannot be jobs, such as those without an id, and counts them.
        on_oom: ``wait`` waits while the memory of Redis is full; ``fail`` ends the call.
        durable: True: each batch of rows waits until its jobs are in a replica or on the disk, as `Queue` does; a task
            that fails since they are not is repeated by Spark.
        max_waiting: the tasks wait while more jobs than this wait in the queue. They look before each of their batches
            (``spark.sql.execution.arrow.maxRecordsPerBatch`` rows), so that a few batches per task may come on top.

    Returns:
        How many jobs are new, how many existed already, and the batch id.

    Raises:
        InvalidOptionError: an option or a column is wrong; nothing was added.
        ConnectionLostError, RedisServerError: the driver cannot use Redis; nothing was added. In ``foreachBatch``, and
            where only the executors know the URL, the tasks find out.
        EnqueueError: a task failed. Jobs may have been added; the error has the batch id to go on with.

    Redis:
        ``add/add_jobs`` per 250 rows, which counts the added jobs in ``ext:enq-<batch id>`` for 7 days; rows with a
        parent or a deduplication id: ``add/add_linked_jobs``. One GET per task.
    """
    check_choice("on_invalid", on_invalid, ("fail", "skip"))
    check_choice("on_oom", on_oom, ("fail", "wait"))
    checks.durable("durable", durable)
    if max_waiting is not None:
        checks.at_least(0)("max_waiting", max_waiting)
    plan = plan_rows(
        df,
        queue,
        prefix=prefix or "bull",
        name=name,
        data=data,
        job_id=job_id,
        opts=opts,
        opts_column=opts_column,
        priority=priority,
        delay=delay,
        parent=parent,
        longs_as_strings=longs_as_strings,
        target=target,
    )
    addresses = Address.of_servers(queue, url, urls, prefix)
    scope = scope_of(df, addresses[0], batch_id)
    check_redis(addresses, in_stream=scope.in_stream)
    options = {**plan.options, "on_invalid": on_invalid, "on_oom": on_oom, "max_waiting": max_waiting}
    own_ids = job_id is not None
    add = AddRows(
        addresses,
        plan.columns,
        scope.batch_id,
        None if own_ids else scope.batch_id,
        scope.by_partition,
        options,
        plan.target,
        plan.target_column,
        durable,
    )
    rows = plan.df if own_ids or scope.by_partition else divide_by_content(plan.df, plan.content)
    if len(addresses) > 1:
        rows = with_place(rows, plan, job_id, len(addresses))
    started = time.monotonic()
    try:
        before = _counts(df, addresses, scope)
        tasks = rows.mapInArrow(add, COUNTS).collect()
    except Exception as error:
        raise failure_of(error, scope) from error
    counted: dict[tuple[int, str], int] = {}
    for task in tasks:
        at = (task.place, task.queue)
        counted[at] = max(counted.get(at, 0), task.counted)
    routes: Counter[str] = Counter()
    for (place, name), count in counted.items():
        routes[name] += max(0, count - before.get((place, name), 0))
    added = routes.total()
    given, skipped = sum(task.rows for task in tasks), sum(task.skipped for task in tasks)
    seconds = time.monotonic() - started
    return EnqueueStats(added, max(0, given - skipped - added), seconds, scope.batch_id, skipped, dict(routes))


def _counts(df: DataFrame, addresses: Sequence[Address], scope: Scope) -> dict[tuple[int, str], int]:
    """Return what the batch has counted before this call, by the place of the server and the name of the queue."""
    if scope.fresh and len(addresses) == 1:
        return {}
    read = df.sparkSession.range(0, 1, 1, 1).mapInArrow(ReadCounts(addresses, scope.batch_id), COUNTED)
    return {(row.place, row.queue): row.counted for row in read.collect()}


def failure_of(error: Exception, scope: Scope) -> EnqueueError:
    """Return the error of a call whose tasks failed: the reason, and how to go on."""
    reason = root_cause(error)
    code = reason.text.split(" ", 1)[0] if reason.kind == "RedisServerError" else None
    hint = " (on_oom='wait' waits until there is room)" if code == "OOM" else ""
    first = "mend that first, then " if reason.kind in _OF_ROWS else ""
    same = ", if they come in the same partitions" if scope.by_partition else ""
    return EnqueueError(
        f"{reason}{hint}; {first}repeat with batch_id={scope.batch_id!r} to resume: rows that are already in the queue "
        f"are not added again{same}",
        scope.batch_id,
        code,
    )
