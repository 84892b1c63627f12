import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, PySparkException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from redis import Redis

from bullrush import Queue

if TYPE_CHECKING:
    import pyarrow

pytestmark = pytest.mark.spark


def write(df: DataFrame, url: str, queue: Queue, **options: str) -> None:
    df.write.format("bullmq").option("url", url).options(**options).mode("append").save(queue.name)


def sentence(error: PySparkException) -> str:
    """Return our line of the text of Spark's exception."""
    return next(line for line in str(error).splitlines() if line.startswith("bullrush: "))


def test_each_row_becomes_a_job(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    rows = spark.createDataFrame([(1, "a@b.c", "mail"), (2, "d@e.f", "sms")], "id long, to string, kind string")
    opts = json.dumps({"attempts": 3, "removeOnComplete": {"count": 10}, "backoff": {"type": "fixed", "delay": 50}})
    write(rows, redis_url, queue, nameColumn="kind", dataColumns="to,id", jobIdColumn="id", opts=opts)
    jobs = {job.id: job for job in queue.get_jobs("waiting")}
    assert {id: (job.name, job.data) for id, job in jobs.items()} == {
        "id-1": ("mail", {"to": "a@b.c", "id": 1}),
        "id-2": ("sms", {"to": "d@e.f", "id": 2}),
    }
    assert jobs["id-1"].opts["remove_on_complete"] == {"count": 10}
    assert (jobs["id-1"].opts["attempts"], jobs["id-1"].opts["backoff"]["delay"]) == (3, 50)


def test_columns_give_names_ids_options_priorities_and_delays(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    rows = spark.createDataFrame(
        [("a", 2**53 + 1, '{"attempts":4}', 5, 3_600_000), ("b", 2, None, None, None)],
        "`who.id` string, n long, more string, p int, later long",
    )
    columns = {"optsColumn": "more", "priorityColumn": "p", "delayColumn": "later", "dataColumns": "who.id,n"}
    write(rows, redis_url, queue, jobIdColumn="who.id", longsAsStrings="true", name="n", **columns)
    first, second = queue.get_job("a"), queue.get_job("b")
    assert first is not None and second is not None
    assert (first.data, second.data) == ({"who.id": "a", "n": str(2**53 + 1)}, {"who.id": "b", "n": "2"})
    assert (first.opts["attempts"], first.priority, first.delay, first.get_state()) == (4, 5, 3_600_000, "delayed")
    assert (second.priority, second.delay, second.get_state()) == (0, 0, "waiting")


def test_rows_that_cannot_be_jobs_are_left_out_if_wanted(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    rows = spark.createDataFrame([("a",), (None,), ("b",)], "id string")
    with pytest.raises(PythonException, match="(?m)^bullrush: ") as refused:
        write(rows, redis_url, queue, jobIdColumn="id", batchId="day-1")
    assert "The batchId is 'day-1'" in str(refused.value)
    write(rows, redis_url, queue, jobIdColumn="id", onInvalidRow="skip")
    assert {job.id for job in queue.get_jobs("waiting")} == {"a", "b"}


def test_a_task_that_spark_repeats_adds_no_job_twice(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    def fail_once(batches: Iterator["pyarrow.RecordBatch"]) -> Iterator["pyarrow.RecordBatch"]:
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0:
            raise RuntimeError("after all rows were written")

    rows = spark.range(0, 1000, 1, 2)
    write(rows.mapInArrow(fail_once, rows.schema), redis_url, queue, name="n")
    assert sorted(job.data["id"] for job in queue.get_jobs("waiting")) == list(range(1000))


def test_a_write_can_be_repeated_with_its_batch_id(
    spark: SparkSession, queue: Queue, redis_url: str, redis: Redis
) -> None:
    rows = spark.range(0, 200, 1, 2)
    for _ in range(2):
        write(rows, redis_url, queue, batchId="2024-05-01")
    assert queue.get_job_counts("waiting")["waiting"] == 200
    assert redis.get(queue.to_key("ext:enq-2024-05-01")) == "200", "Redis counts what a batch added"
    write(rows, redis_url, queue, batchId="2024-05-01", name="another")
    write(rows, redis_url, queue)
    assert queue.get_job_counts("waiting")["waiting"] == 600, "other names and other batches are other jobs"


def test_a_wrong_write_is_refused_before_a_task_starts(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    rows = spark.range(3).selectExpr("id", "'x' AS text")
    for options, said in [
        (
            {"job_id_column": "id"},
            "bullrush: format 'bullmq' has no option 'job_id_column'. Did you mean 'jobIdColumn'?",
        ),
        ({"jobIdColumn": "order"}, "bullrush: option 'jobIdColumn': there is no column 'order'. There are: id, text"),
        ({"priorityColumn": "text"}, "bullrush: priority: the column 'text' must hold integers, not string"),
        ({"batchId": "a:b"}, "bullrush: batch_id cannot contain a colon or control characters: 'a:b'"),
        ({"opts": '{"attemps":3}'}, "bullrush: add() has no option 'attemps'. Did you mean 'attempts'?"),
    ]:
        with pytest.raises(AnalysisException) as refused:
            write(rows, redis_url, queue, **options)
        assert sentence(refused.value) == said
    with pytest.raises(AnalysisException) as refused:
        rows.write.format("bullmq").option("url", redis_url).mode("overwrite").save(queue.name)
    assert sentence(refused.value) == "bullrush: jobs can only be added to a queue: use .mode('append')"
    assert queue.get_job_counts("waiting")["waiting"] == 0


def test_a_wrong_password_is_reported_before_a_task_starts_and_not_shown(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    url = redis_url.replace("redis://", "redis://:pass-word@")
    with pytest.raises(AnalysisException) as refused:
        write(spark.range(3), url, queue)
    assert sentence(refused.value).startswith("bullrush: ")
    assert "pass-word" not in str(refused.value)


def test_sql_inserts_into_a_view(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    view = f"mails_{queue.name[-8:]}"
    spark.sql(
        f"CREATE TEMP VIEW {view} (to STRING, n INT) USING bullmq "
        f"OPTIONS (url '{redis_url}', queue '{queue.name}', name 'send')"
    )
    spark.sql(f"INSERT INTO {view} VALUES ('a@b.c', 1), ('d@e.f', 2)")
    spark.sql(f"DROP VIEW {view}")
    assert sorted((job.name, job.data["n"]) for job in queue.get_jobs("waiting")) == [("send", 1), ("send", 2)]


class Ticks:
    """A streaming query that writes 100 numbers per run."""

    def __init__(self, spark: SparkSession, queue: Queue, url: str, checkpoint: Path) -> None:
        self._source = (
            spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).option("startTimestamp", 0)
        )
        self._options = {"url": url, "checkpointLocation": str(checkpoint)}
        self._queue = queue

    def run(self, mode: str = "append") -> StreamingQuery:
        writer = self._source.load().writeStream.format("bullmq").options(**self._options).outputMode(mode)
        query = writer.trigger(availableNow=True).start(self._queue.name)
        query.awaitTermination()
        return query


def test_a_stream_that_died_between_write_and_commit_adds_no_job_twice_and_loses_none(
    spark: SparkSession, queue: Queue, redis_url: str, tmp_path: Path
) -> None:
    ticks = Ticks(spark, queue, redis_url, tmp_path)
    ticks.run()
    last = ticks.run()
    # What the checkpoint of a query looks like that died after it had written its second micro-batch.
    for file in (tmp_path / "commits").iterdir():
        if file.name.strip(".").startswith("1"):
            file.unlink()
    ticks.run()
    jobs = queue.get_jobs("waiting")
    values = sorted(job.data["value"] for job in jobs)
    assert values == list(range(len(values)))
    assert len(values) >= 200
    assert {job.id.split(".")[0] for job in jobs} == {last.id}, "ids begin with the id of the query"
