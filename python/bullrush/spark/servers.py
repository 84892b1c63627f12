"""One queue on several Redis servers: each job is on one of them, chosen by its id or by that of its parent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from bullrush.errors import BullrushError, InvalidOptionError
from bullrush.spark.address import Address, NamingServer
from bullrush.spark.rows.division import hash_of_content

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from bullrush.spark.rows.plan import RowPlan

#: The column of results with the server; of rows with its place in the list.
SERVER: Final = "server"
PLACE: Final = "__bullrush_server"

#: Enough rows for every default partition.
_SEEDS: Final = 10_000
_WHOLE_NUMBER: Final = "^-?[0-9]+$"


def of_each_server(addresses: Sequence[Address], frame: Callable[[Address, int], DataFrame]) -> DataFrame:
    """Return the rows of all servers, with the column ``server``.

    Args:
        addresses: the servers.
        frame: returns the rows of one server; gets the address and its place. It is called for all servers at once.

    Raises:
        BullrushError: the first error of a server, which it names.
    """
    from pyspark.sql import functions as f

    def rows(place: int) -> DataFrame:
        address = addresses[place]
        try:
            with NamingServer(addresses, place):
                found = frame(address, place)
        except BullrushError:
            raise
        except Exception as error:  # of Spark, about its tasks
            raise BullrushError(f"The tasks for the server {address.server} failed: {error}") from error
        if SERVER in found.columns:
            raise InvalidOptionError(f"The results have a column {SERVER!r}: give the one of yours another name")
        return found.withColumn(SERVER, f.lit(address.server))

    with ThreadPoolExecutor(len(addresses), "bullrush-server") as pool:
        frames = list(pool.map(rows, range(len(addresses))))
    return reduce(lambda one, other: one.unionByName(other), frames)


def divided_workers(spark: SparkSession, workers: int | None, servers: int) -> list[int]:
    """Return the number of workers of each server; without a number as many as Spark runs at the same time.

    Raises:
        InvalidOptionError: there are fewer workers than servers.
    """
    if workers is None:
        from pyspark.sql import functions as f

        parts = spark.range(_SEEDS).select(f.spark_partition_id().alias("part")).distinct().count()
        workers = max(servers, parts)
    if workers < servers:
        raise InvalidOptionError(f"{servers} servers need at least as many workers, not {workers}")
    return [workers // servers + (place < workers % servers) for place in range(servers)]


def with_place(rows: DataFrame, plan: RowPlan, job_id: str | None, servers: int) -> DataFrame:
    """Return the rows with the place of their server as the last column.

    A row with a parent goes to the parent's server: that of a job with the parent's id. Any other row goes by its id,
    or without an id column by its content.
    """
    from pyspark.sql import functions as f

    at = dict(zip(plan.columns, plan.df.columns, strict=True))
    own = hash_of_content(plan.content) if job_id is None else f.xxhash64(id_text(f.col(at[job_id]), job_id))
    # xxhash64 of null is a number.
    parents = [f.when(parent.isNotNull(), f.xxhash64(parent)) for parent in _parents(plan, at)]
    return rows.withColumn(PLACE, place_of(f.coalesce(*parents, own), servers))


def place_of(hashed: Column, servers: int) -> Column:
    """Return the place of a server in the list from a hash."""
    from pyspark.sql import functions as f

    return f.pmod(hashed, f.lit(servers)).cast("int")


def id_text(column: Column, name: str) -> Column:
    """Return the ids that jobs get from a column of this name."""
    from pyspark.sql import functions as f

    text = column.cast("string")
    return f.when(text.rlike(_WHOLE_NUMBER), f.concat(f.lit(f"{name}-"), text)).otherwise(text)


def _parents(plan: RowPlan, at: Mapping[str, str]) -> list[Column]:
    """Return where the id of a row's parent may be, null for none."""
    from pyspark.sql import functions as f

    options, found = plan.options, []
    if column := options["parent_column"]:
        found.append(_id_in(plan, at[column], "id", "$.id"))
    if column := options["opts_column"]:
        found.append(_id_in(plan, at[column], "parent", "$.parent.id"))
    if parent := (options["opts"] or {}).get("parent"):
        found.append(f.lit(parent["id"]))
    return [column for column in found if column is not None]


def _id_in(plan: RowPlan, column: str, field: str, path: str) -> Any:
    from pyspark.sql import functions as f

    kind: Any = plan.df.schema[column].dataType
    if kind.typeName() == "struct":
        if field not in kind.names:
            return None
        inner = f.col(column).getField(field)
        return inner if field == "id" else inner.getField("id")
    return f.col(column) if field == "id" else f.get_json_object(f.col(column), path)
