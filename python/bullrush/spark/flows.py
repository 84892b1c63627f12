"""Adding the groups of a DataFrame as flows: one parent per group, with the group's rows as its children."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bullrush.errors import InvalidOptionError
from bullrush.extending import option_compilers, options_by_name, plan_flows
from bullrush.job import JobOptions
from bullrush.spark.address import Address, check_redis
from bullrush.spark.enqueue import failure_of
from bullrush.spark.rows.frame import check_frame, check_name_lists, check_names, check_opts
from bullrush.spark.rows.scope import scope_of
from bullrush.spark.servers import PLACE, id_text, place_of
from bullrush.spark.tasks.add_flows import AddFlows, Side
from bullrush.spark.tasks.batch_counts import COUNTED, ReadCounts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class FlowStats(NamedTuple):
    """What an `enqueue_flows` did.

    Attributes:
        parents: new parents.
        children: new children.
        duplicates: jobs whose ids existed already, from an earlier call or an earlier attempt of a retried task.
        seconds: the time of the call.
        batch_id: the batch id of automatic ids.
    """

    parents: int
    children: int
    duplicates: int
    seconds: float
    batch_id: str


@options_by_name
def enqueue_flows(
    df: DataFrame,
    parent_queue: str,
    *,
    by: str | Sequence[str],
    children_queue: str,
    url: str | None = None,
    urls: Sequence[str] | None = None,
    prefix: str | None = None,
    parent_name: str | None = None,
    child_name: str | None = None,
    parent_data: Sequence[str] | None = None,
    child_data: Sequence[str] | None = None,
    parent_id: str | None = None,
    child_id: str | None = None,
    batch_id: str | None = None,
    parent_opts: JobOptions | None = None,
    child_opts: JobOptions | None = None,
) -> FlowStats:
    """Add one flow per group of rows, and wait until all are in Redis: a parent, and one child per row.

    A parent runs when all its children are done, and reads their results with ``job.get_children_values()``. Spark
    shuffles the rows so that a group is in one task; each flow is stored completely or not at all. A task that Spark
    runs again adds nothing twice while the jobs exist: automatic ids are made of the batch id, the group and the
    content of the row, not of the order or the partition.

    Args:
        df: the rows.
        parent_queue: the queue of the parents.
        by: the column, or columns, that make a group. Rows with null are a group, too.
        children_queue: the queue of the children; it may be the same.
        url: the URL of Redis for the executors; ``env:NAME`` and ``file:/path`` are read there. The default is that of
            `Queue`.
        urls: instead of ``url``: several servers. A flow goes to one of them, by the parent's id or by the group. The
            list and its order are part of the batch.
        prefix: the prefix of the keys of both queues, ``bull`` by default.
        parent_name: the names of the parents: a column by name, or one name for all. Their queue's name by default.
        child_name: the names of the children.
        parent_data: the columns of a parent's data; those of ``by`` by default. They should be equal in all rows of a
            group: the first row in their order counts.
        child_data: the columns of a child's data; all by default.
        parent_id: the column with the ids of the parents; ``17`` in a column ``order`` becomes ``order-17``. Each group
            has one id, and no other group has it: unless it is the column of ``by``, Spark first reads the rows once to
            check this.
        child_id: the column with the ids of the children.
        batch_id: part of automatic ids; in ``foreachBatch`` made from the query and the micro-batch, elsewhere random.
            A call with the same batch id and rows adds nothing.
        parent_opts: the options of the parents, as for ``Queue.add``.
        child_opts: the options of the children, such as ``{"fail_parent_on_failure": True}``.

    Returns:
        The number of new parents and children, and of jobs that existed.

    Raises:
        InvalidOptionError: an option or a column is wrong, two groups have the same ``parent_id``, or a group has two;
            nothing was added.
        ConnectionLostError, RedisServerError: the driver cannot use Redis; nothing was added. In ``foreachBatch``, and
            where only the executors know the URL, the tasks find out.
        EnqueueError: a task failed, for example at a group of 20,000 or more rows. Flows may have been added; the error
            has the batch id to go on with.

    Redis:
        One script call per 250 jobs or per group, whichever is more; about 10 µs of the server's time per job.
    """
    check_frame(df)
    check_name_lists({"parent_data": parent_data, "child_data": child_data, "by": [by] if isinstance(by, str) else by})
    check_names({"parent_id": parent_id, "child_id": child_id, "parent_name": parent_name, "child_name": child_name})
    check_opts({"parent_opts": parent_opts, "child_opts": child_opts})
    from pyspark.sql import functions as f

    keys = [by] if isinstance(by, str) else list(by)
    columns = list(df.columns)
    _check_columns(df, keys, [*(parent_data or ()), *(child_data or ()), *filter(None, (parent_id, child_id))])
    parents = _side(
        columns, parent_queue, name=parent_name, data=parent_data or keys, job_id=parent_id, opts=parent_opts
    )
    children = _side(
        columns, children_queue, name=child_name, data=child_data or columns, job_id=child_id, opts=child_opts
    )
    addresses = Address.of_servers(parent_queue, url, urls, prefix)
    # Checks names, queues and options now, on the driver, and not in a task.
    example = parents.job("name", {}, "parent")
    plan_flows(
        [{**example, "children": [children.job("name", {}, "child")]}], addresses[0].prefix, option_compilers(None), 0
    )
    scope = scope_of(df, addresses[0], batch_id)._replace(by_partition=False)
    check_redis(addresses, in_stream=scope.in_stream)
    add = AddFlows(addresses, columns, keys, parents, children, scope.batch_id)
    safe = df.toDF(*(f"c{number}" for number in range(len(columns))))  # Spark cannot map dotted names
    group = [f"c{columns.index(column)}" for column in keys]
    order = [f"c{columns.index(column)}" for column in dict.fromkeys((*keys, *parents.data))]
    grouped = safe.repartition(*group).sortWithinPartitions(*order)
    started = time.monotonic()
    if parent_id is not None and keys != [parent_id]:
        _check_parent_ids(safe, group, f"c{columns.index(parent_id)}", parent_id)
    if len(addresses) > 1:
        # The ids of parents decide, as for `enqueue`: rows that come later find their parent on its server.
        key = f.xxhash64(id_text(f.col(f"c{columns.index(parent_id)}"), parent_id) if parent_id else f.struct(*group))
        grouped = grouped.withColumn(PLACE, place_of(key, len(addresses)))
    try:
        if len(addresses) > 1:
            df.sparkSession.range(0, 1, 1, 1).mapInArrow(ReadCounts(addresses, scope.batch_id), COUNTED).collect()
        counts = grouped.mapInArrow(add, "parents long, children long, duplicates long").collect()
    except Exception as error:
        raise failure_of(error, scope) from error
    seconds = time.monotonic() - started
    new_parents, new_children, duplicates = (sum(column) for column in zip((0, 0, 0), *counts, strict=True))
    return FlowStats(new_parents, new_children, duplicates, seconds, scope.batch_id)


def _check_columns(df: DataFrame, by: Sequence[str], others: Sequence[str]) -> None:
    columns = list(df.columns)
    if twins := [column for column in columns if columns.count(column) > 1]:
        raise InvalidOptionError(f"Two columns are named {twins[0]!r}")
    if not by:
        raise InvalidOptionError("by needs at least one column")
    for column in [*by, *others]:
        if column not in columns:
            raise InvalidOptionError(f"No column {column!r}; there are {', '.join(columns)}")
    types = dict(df.dtypes)
    for column in by:
        if types[column] in ("float", "double"):
            # NaN and null are the same in JSON, and 0.0 and -0.0 the same for Spark.
            raise InvalidOptionError(f"by cannot be the column {column!r} of type {types[column]}: cast it")


def _check_parent_ids(rows: DataFrame, group: Sequence[str], column: str, name: str) -> None:
    """Check that each group has one parent id, and no two groups the same."""
    from pyspark.sql import functions as f

    ids = id_text(f.col(column), name)
    of_groups = rows.groupBy(*dict.fromkeys(group)).agg(f.min(ids).alias("low"), f.max(ids).alias("high"))
    of_ids = (
        of_groups.where("low IS NOT NULL").groupBy("low").agg(f.count("*").alias("groups"), f.max("high").alias("high"))
    )
    for wrong in of_ids.where("groups > 1 OR high > low").limit(1).collect():
        if wrong.high != wrong.low:
            raise InvalidOptionError(f"A group has two parent ids in {name!r}: {wrong.low!r} and {wrong.high!r}")
        raise InvalidOptionError(
            f"{wrong.groups:,} groups have the parent id {wrong.low!r} of {name!r}: it would merge them"
        )


def _side(
    columns: Sequence[str],
    queue: str,
    *,
    name: str | None,
    data: Sequence[str],
    job_id: str | None,
    opts: JobOptions | None,
) -> Side:
    if "job_id" in (opts or {}):
        raise InvalidOptionError("job_id is not an option of all jobs: give a column as parent_id or child_id")
    is_column = name in columns
    return Side(queue, None if is_column else name, name if is_column else None, list(data), job_id, opts or {})
