"""Calls of `enqueue` that repeat one another add each row once, and tell exactly how many jobs are new."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bullrush import Queue
from bullrush.spark import EnqueueStats, enqueue
from tests.waiting import wait_until

pytestmark = pytest.mark.spark


def counts(stats: EnqueueStats) -> tuple[int, int]:
    return stats.added, stats.duplicates


def test_a_batch_that_is_enqueued_again_in_other_partitions_adds_nothing(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    # Equal rows are meant to be that many jobs, so the content alone is not the id.
    rows = spark.range(500).selectExpr("id % 50 AS x", "if(id % 2 = 0, double('nan'), null) AS y")
    first = enqueue(rows.repartition(2, "x"), queue.name, url=redis_url, batch_id="2024-05-01")
    again = enqueue(rows.orderBy(f.desc("x")).coalesce(1), queue.name, url=redis_url, batch_id="2024-05-01")
    more = enqueue(rows.union(rows.limit(1)), queue.name, url=redis_url, batch_id="2024-05-01")
    other = enqueue(rows, queue.name, url=redis_url, batch_id="2024-05-02")
    assert [counts(stats) for stats in (first, again, more, other)] == [(500, 0), (0, 500), (1, 500), (500, 0)]
    assert first.batch_id == "2024-05-01"


def test_a_batch_of_another_name_is_other_jobs(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    for name in ("mail", "sms"):
        assert counts(enqueue(spark.range(10), queue.name, url=redis_url, name=name, batch_id="d")) == (10, 0)


def test_a_call_resumes_with_the_id_that_an_earlier_one_made(
    spark: SparkSession, queue: Queue, redis_url: str, redis
) -> None:
    rows = spark.range(0, 100, 1, 2).selectExpr("id % 10 AS x")
    first = enqueue(rows, queue.name, url=redis_url)
    for job in queue.get_jobs("waiting", 0, 29):  # as if some of the rows had not been added
        job.remove()
    again = enqueue(rows, queue.name, url=redis_url, batch_id=first.batch_id)
    assert (counts(first), counts(again)) == ((100, 0), (30, 70))
    assert redis.get(queue.to_key(f"ext:enq-{first.batch_id}")) == "130"


def test_a_micro_batch_that_spark_replays_adds_nothing_twice(
    spark: SparkSession, queue: Queue, redis_url: str, tmp_path: Path
) -> None:
    calls: list[tuple[int, list[EnqueueStats]]] = []

    def write(rows: DataFrame, number: int) -> None:
        both = [enqueue(rows, queue.name, url=redis_url) for _ in range(2)]
        calls.append((number, both))
        if len(calls) == 1:
            raise RuntimeError("broken on purpose, after the write")

    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 20).option("startTimestamp", 0).load()
    writer = rows.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path))
    for enough in (1, 2):
        query = writer.start()
        wait_until(lambda enough=enough: len(calls) >= enough, "a micro-batch was written", seconds=60)
        if enough > 1:
            query.stop()
        else:
            wait_until(lambda query=query: not query.isActive, "the query has failed", seconds=60)
    (number, first), (replayed, again) = calls[:2]
    assert number == replayed
    assert [counts(stats) for stats in first] == [(20, 0), (20, 0)], "two calls are two batches"
    assert [counts(stats) for stats in again] == [(0, 20), (0, 20)]
    assert [stats.batch_id for stats in first] == [stats.batch_id for stats in again]
