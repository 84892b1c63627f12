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
from bullrush.spark import drain, enqueue


def add_rows(spark: SparkSession, order: Order) -> None:
    rows = _rows(spark, order).cache()
    rows.count()
    channel.ready()
    enqueue(rows, order["queue"], url=order["url"], name=functions.lit(NAME))
    channel.done()
    rows.unpersist()


def work_rows(spark: SparkSession, order: Order) -> None:
    channel.ready()
    jobs = drain(spark, order["queue"], lambda job: None, url=order["url"], concurrency=100, until="drained")
    channel.wait_for_stop()
    channel.done(handled=jobs.count())


def _rows(spark: SparkSession, order: Order) -> DataFrame:
    number = functions.col("id")
    return spark.range(order["jobs"]).select(
        number.alias("order"),
        functions.format_string("c-%06d", number).alias("customer"),
        (number % 997 + 0.5).alias("amount"),
        functions.lit(note(order["payload"])).alias("note"),
    )


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable  # executors run the same code as this process
    builder: Any = SparkSession.builder
    session = builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    tasks = {"enqueue": partial(add_rows, session), "drain": partial(work_rows, session)}
    channel.work(f"bullrush in Spark {importlib.metadata.version('pyspark')}", tasks)
    session.stop()
