"""The official Python port of BullMQ in Spark's tasks, as its users call it: `foreachPartition` and `mapPartitions`."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from bullmq import Queue, Worker
from pyspark.sql import SparkSession

from benches.harness.payload import NAME
from benches.peers import channel
from benches.peers.channel import Order
from benches.peers.spark_peer import rows_of, session

_CHUNK = 1_000
#: Seconds between two looks whether jobs are left.
_LOOK = 0.05
#: Seconds for closing: sometimes it never returns, although no job is left.
_MAX_SECONDS = 1.0


def add_rows(spark: SparkSession, order: Order) -> None:
    rows = rows_of(spark, order).cache()
    rows.count()
    channel.ready()
    rows.foreachPartition(partial(_add_partition, order["queue"], order["url"]))
    channel.done()
    rows.unpersist()


def work_rows(spark: SparkSession, order: Order) -> None:
    seeds = spark.sparkContext.parallelize(range(2), 2)
    channel.ready()
    results = seeds.mapPartitions(partial(_work_partition, order["queue"], order["url"])).collect()
    channel.wait_for_stop()
    channel.done(handled=sum(results))


def _add_partition(queue: str, url: str, rows: Iterable[Any]) -> None:
    async def add() -> None:
        producer = Queue(queue, {"connection": url})
        chunk: list[dict[str, Any]] = []
        for row in rows:
            chunk.append({"name": NAME, "data": row.asDict()})
            if len(chunk) == _CHUNK:
                await producer.addBulk(chunk)
                chunk = []
        if chunk:
            await producer.addBulk(chunk)
        await producer.close()

    asyncio.run(add())


def _work_partition(queue: str, url: str, _: Iterable[int]) -> Iterator[int]:
    async def work() -> int:
        handled = 0

        async def handle(job: Any, token: str) -> None:
            nonlocal handled
            handled += 1

        worker = Worker(queue, handle, {"connection": url, "autorun": False, "concurrency": 100})
        reader = Queue(queue, {"connection": url})
        running = asyncio.ensure_future(worker.run())
        while sum((await reader.getJobCounts("wait", "active")).values()):  # noqa: ASYNC110 - the state is in Redis
            await asyncio.sleep(_LOOK)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(worker.close(), _MAX_SECONDS)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await reader.close()
        return handled

    yield asyncio.run(work())


def main() -> None:
    spark = session()
    version = importlib.metadata.version("bullmq")
    tasks = {"enqueue": partial(add_rows, spark), "drain": partial(work_rows, spark)}
    channel.work(f"bullmq {version} in Spark {importlib.metadata.version('pyspark')}", tasks)
    spark.stop()
