"""bullrush in Spark as a peer: a session with two local cores that stays for all rounds."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions

from benches.harness.payload import NAME, note
from benches.peers import channel
from benches.peers.channel import Order
from bullrush.spark import drain, enqueue, read_jobs


def add_rows(spark: SparkSession, order: Order) -> None:
    rows = rows_of(spark, order).cache()
    rows.count()
    channel.ready()
    where = {"urls": order["urls"]} if "urls" in order else {"url": order["url"]}
    enqueue(rows, order["queue"], name=functions.lit(NAME), **where)
    channel.done()
    rows.unpersist()


def work_rows(spark: SparkSession, order: Order) -> None:
    channel.ready()
    jobs = drain(spark, order["queue"], lambda job: None, url=order["url"], concurrency=100, until="drained")
    channel.handled()
    channel.wait_for_stop()
    channel.done(handled=jobs.count())


def read_rows(spark: SparkSession, order: Order) -> None:
    columns = "jobId string, name string, data struct<order: long>, finishedOn timestamp"
    channel.ready()
    jobs = read_jobs(spark, order["queue"], states=["completed"], schema=columns, url=order["url"])
    (found,) = jobs.agg(functions.count("jobId").alias("jobs"), functions.sum("data.order").alias("orders")).collect()
    channel.handled()
    channel.wait_for_stop()
    channel.done(handled=found.jobs, orders=found.orders)


def rows_of(spark: SparkSession, order: Order) -> DataFrame:
    number = functions.col("id")
    return spark.range(order["jobs"]).select(
        number.alias("order"),
        functions.format_string("c-%06d", number).alias("customer"),
        (number % 997 + 0.5).alias("amount"),
        functions.lit(note(order["payload"])).alias("note"),
    )


def session() -> SparkSession:
    """Return a session with two local cores, whose tasks run this Python."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder
    spark: SparkSession = builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main() -> None:
    spark = session()
    tasks = {"enqueue": add_rows, "drain": work_rows, "read": read_rows}
    version = importlib.metadata.version("pyspark")
    channel.work(f"bullrush in Spark {version}", {name: partial(task, spark) for name, task in tasks.items()})
    spark.stop()
