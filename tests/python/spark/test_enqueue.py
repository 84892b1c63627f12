import re
from datetime import datetime

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import DecimalType, StructType

from bullrush import Queue
from bullrush.errors import EnqueueError
from bullrush.spark import enqueue

pytestmark = pytest.mark.spark


def test_each_row_becomes_a_waiting_job(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    stats = enqueue(spark.range(1000), queue.name, url=redis_url, name="count")
    assert (stats.added, stats.duplicates, stats.skipped) == (1000, 0, 0)
    assert re.fullmatch("auto-[0-9a-f]{16}", stats.batch_id)
    assert queue.get_job_counts("waiting", "completed")["waiting"] == 1000
    jobs = queue.get_jobs("waiting")
    assert {job.name for job in jobs} == {"count"}
    assert sorted(job.data["id"] for job in jobs) == list(range(1000))


def test_all_of_sparks_types_arrive_as_documented(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    row = spark.range(1).select(
        f.lit(2**53 + 1).alias("long"),
        f.lit("é\n\u2028\U0001f600").alias("text"),
        f.lit(None).cast("string").alias("nothing"),
        f.lit(float("nan")).alias("nan"),
        f.lit(b"\x00\xff").alias("bytes"),
        f.lit("1.50").cast(DecimalType(10, 2)).alias("decimal"),
        f.lit(datetime(2024, 5, 1, 12, 30)).cast("timestamp").alias("instant"),
        f.lit("2024-05-01").cast("date").alias("day"),
        f.array(f.lit(1), f.lit(None)).alias("list"),
        f.create_map(f.lit("k"), f.lit(True)).alias("map"),
        f.struct(f.lit(1).alias("a"), f.lit(None).cast("int").alias("b")).alias("struct"),
    )
    enqueue(row, queue.name, url=redis_url)
    (job,) = queue.get_jobs("waiting")
    assert job.data == {
        "long": 2**53 + 1,
        "text": "é\n\u2028\U0001f600",
        "nothing": None,
        "nan": None,
        "bytes": "AP8=",
        "decimal": 1.5,
        "instant": "2024-05-01T12:30:00Z",
        "day": "2024-05-01",
        "list": [1, None],
        "map": {"k": True},
        "struct": {"a": 1, "b": None},
    }
    assert job.name == queue.name, "the queue's name is the default"


def test_the_name_comes_from_a_column_an_expression_or_a_literal(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    rows = spark.createDataFrame([("mail", 1), ("sms", 2)], "kind string, n long")
    enqueue(rows, queue.name, url=redis_url, name="kind", data=["n"])
    enqueue(rows, queue.name, url=redis_url, name=f.upper("kind"), data=["n"])
    enqueue(rows, queue.name, url=redis_url, name="send", data=["n"])
    jobs = [(job.name, job.data["n"]) for job in queue.get_jobs("waiting")]
    assert sorted(jobs) == [("MAIL", 1), ("SMS", 2), ("mail", 1), ("send", 1), ("send", 2), ("sms", 2)]
    assert {tuple(job.data) for job in queue.get_jobs("waiting")} == {("n",)}


def test_ids_from_a_column_are_added_once_however_often_they_come(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    first = enqueue(spark.range(300), queue.name, url=redis_url, job_id="id")
    again = enqueue(spark.range(200, 400), queue.name, url=redis_url, job_id="id")
    assert (first.added, first.duplicates) == (300, 0)
    assert (again.added, again.duplicates) == (100, 100)
    job = queue.get_job("id-7")
    assert job is not None
    assert job.data == {"id": 7}


def test_a_task_that_fails_half_way_and_is_retried_adds_nothing_twice(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    name = queue.name

    def breaks_once(batches):
        import time

        from pyspark import TaskContext

        from bullrush import Queue

        for number, batch in enumerate(batches):
            if number == 5 and TaskContext.get().attemptNumber() == 0:
                deadline = time.monotonic() + 30
                while not Queue(name, url=redis_url).get_waiting_count() and time.monotonic() < deadline:
                    time.sleep(0.01)
                raise RuntimeError("broken on purpose")
            yield batch

    # Wide rows: five batches of small ones would stay in Spark's buffers between the two functions.
    wide = spark.range(0, 2000, 1, 2).withColumn("text", f.repeat(f.lit("x"), 2_000))
    rows = wide.mapInArrow(breaks_once, wide.schema)
    stats = enqueue(rows, name, url=redis_url)
    assert queue.get_job_counts("waiting")["waiting"] == 2000
    assert (stats.added, stats.duplicates) == (2000, 0), "also the jobs of the attempt that failed"
    assert sorted(job.data["id"] for job in queue.get_jobs("waiting")) == list(range(2000))


def test_options_apply_to_every_job(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    opts = {"attempts": 3, "priority": 5, "backoff": 100}
    enqueue(spark.range(10), queue.name, url=redis_url, opts=opts)
    assert queue.get_job_counts("prioritized")["prioritized"] == 10
    job = queue.get_jobs("prioritized")[0]
    assert job.opts["attempts"] == 3
    assert job.opts["backoff"] == {"type": "fixed", "delay": 100}
    assert job.priority == 5


def test_a_frame_without_rows_adds_nothing(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    empty = spark.createDataFrame([], StructType().add("x", "long"))
    assert enqueue(empty, queue.name, url=redis_url)[:2] == (0, 0)


def test_the_address_is_read_on_the_executor(
    spark: SparkSession, queue: Queue, redis_url: str, tmp_path, monkeypatch
) -> None:
    place = tmp_path / "redis-url"
    place.write_text(f"{redis_url}\n")
    assert enqueue(spark.range(3), queue.name, url=f"file:{place}").added == 3
    monkeypatch.setenv("BULLRUSH_ONLY_ON_THE_DRIVER", redis_url)
    with pytest.raises(EnqueueError, match="BULLRUSH_ONLY_ON_THE_DRIVER is not set on an executor"):
        enqueue(spark.range(3), queue.name, url="env:BULLRUSH_ONLY_ON_THE_DRIVER")
