"""Which columns of a DataFrame become which parts of the jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from bullrush.errors import InvalidOptionError
from bullrush.extending import RowOptions, check_job_name, check_prefix, check_queue_name
from bullrush.job import JobOptions
from bullrush.spark.routing.targets import check_parents_of_routes, check_target
from bullrush.spark.rows.frame import (
    check_columns,
    check_data,
    check_frame,
    check_name_lists,
    check_names,
    check_opts,
    check_role,
    is_months,
    near_column,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class RowPlan(NamedTuple):
    """The rows in the form that tasks take.

    Attributes:
        df: the columns that are needed, named by their positions: Spark cannot map dotted names.
        columns: their real names.
        content: those that are part of automatic ids, by their name in ``df``, with their types.
        options: options of `ArrowWriter`.
        target: the target of all rows, None for none.
        target_column: the column with the target of each row, None for none.
    """

    df: DataFrame
    columns: list[str]
    content: dict[str, Any]
    options: dict[str, Any]
    target: Mapping[str, Any] | None
    target_column: str | None


def plan_rows(
    df: DataFrame,
    queue: str,
    *,
    prefix: str,
    name: object,
    data: Sequence[str] | None,
    job_id: str | None,
    opts: JobOptions | None,
    opts_column: object,
    priority: object,
    delay: object,
    parent: object,
    longs_as_strings: bool,
    target: object = None,
) -> RowPlan:
    """Check the arguments of `enqueue`, and return what the tasks need.

    Raises:
        InvalidOptionError, QueueNameError: an argument or a column is wrong.
    """
    check_frame(df)
    prefix = check_prefix(prefix)
    check_queue_name(queue)
    check_name_lists({"data": data})
    check_names({"job_id": job_id})
    check_opts({"opts": opts})
    if "target" in (opts or {}):
        raise InvalidOptionError("The target of all rows is no option: give target= instead")
    own = df.schema.names
    check_columns(df.schema, [*(data or ()), *([job_id] if job_id is not None else ())])
    common: Any = dict(opts or {})
    roles: dict[str, str] = {} if job_id is None else {"job_id": job_id}
    if isinstance(name, str) and name not in own:
        if near := near_column(own, name):
            raise InvalidOptionError(
                f"name={name!r} and the column {near!r} differ only in case: write {near!r} for the column, or "
                f"lit({name!r}) for one name"
            )
        check_job_name(name)
    literal = name if isinstance(name, str) and name not in own else None
    parts: dict[str, Any] = {"opts_column": opts_column, "priority": priority, "delay": delay, "parent": parent}
    if literal is None:
        parts["name"] = name
    common_target = check_target(prefix, queue, target)
    if common_target is None:
        parts["target"] = target
    for role, part in parts.items():
        if isinstance(part, str):
            check_columns(df.schema, [part])
            roles[role] = part
        elif hasattr(part, "cast") and hasattr(part, "alias"):  # a Column, of either kind of session
            hidden = f"__bullrush_{role}"
            df = df.withColumn(hidden, part.cast("string") if role == "name" else part)
            roles[role] = hidden
        elif part is not None:
            _set_common(common, role, part)
    RowOptions.of(common, f"{prefix}:{queue}")
    schema = df.schema
    for role, column in roles.items():
        check_role(role, column, schema[column].dataType)
    if common_target or "target" in roles:
        check_parents_of_routes(roles.get("parent"), schema)
    chosen = list(data) if data is not None else own
    for column in chosen:
        check_data(column, schema[column].dataType)
    names = literal if literal or "name" in roles else queue
    return _narrowed(
        df, chosen, roles=roles, literal=names, common=common, longs_as_strings=longs_as_strings, target=common_target
    )


def _set_common(common: dict[str, Any], role: str, value: object) -> None:
    if isinstance(value, Mapping if role == "parent" else int | timedelta) and role not in ("name", "opts_column"):
        common[role] = value
        return
    raise InvalidOptionError(f"{role} must be a column, or a value for all jobs, not {type(value).__qualname__}")


def _narrowed(
    df: DataFrame,
    chosen: list[str],
    *,
    roles: Mapping[str, str],
    literal: str | None,
    common: dict[str, Any],
    longs_as_strings: bool,
    target: Mapping[str, Any] | None,
) -> RowPlan:
    from pyspark.sql import functions as f

    schema = df.schema
    needed = [column for column in schema.names if column in {*chosen, *roles.values()}]
    at = {column: f"c{schema.names.index(column)}" for column in needed}
    narrow = df.toDF(*(f"c{number}" for number in range(len(schema.names))))
    selected = [
        f.expr(f"concat('P', cast(cast({at[column]} as interval month) as int), 'M')").alias(at[column])
        if is_months(schema[column].dataType)
        else f.col(at[column])
        for column in needed
    ]
    if not selected:  # Spark hands over no rows of a frame without columns
        needed, selected = ["__bullrush_nothing"], [f.lit(0).alias("c0")]
    narrow = narrow.select(*selected)
    content = [*chosen, *([roles["name"]] if "name" in roles else ())]
    options = {
        "name": literal,
        "name_column": roles.get("name"),
        "data": chosen,
        "job_id": roles.get("job_id"),
        "opts": common,
        "opts_column": roles.get("opts_column"),
        "priority_column": roles.get("priority"),
        "delay_column": roles.get("delay"),
        "parent_column": roles.get("parent"),
        "longs_as_strings": longs_as_strings,
    }
    types = {at[column]: narrow.schema[at[column]].dataType for column in content}
    return RowPlan(narrow, needed, types, options, target, roles.get("target"))
