import json
from collections.abc import Callable

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from bullrush import Job, Queue, Worker

pytestmark = pytest.mark.spark


def table(spark: SparkSession, url: str, queue: Queue, schema: str | None = None, **options: str) -> DataFrame:
    reader = spark.read.format("bullmq").option("url", url).options(**options)
    return (reader if schema is None else reader.schema(schema)).load(queue.name)


def half(job: Job) -> dict[str, object]:
    if job.data["n"] % 2:
        raise ValueError(f"odd: {job.data['n']}")
    return {"half": job.data["n"] // 2, "tags": ["even"]}


def test_what_was_written_is_read_back(
    spark: SparkSession, queue: Queue, worker: Callable[..., Worker], redis_url: str
) -> None:
    rows = spark.range(100).select(f.col("id").alias("n"), f.concat(f.lit("é-"), "id").alias("text"))
    rows.write.format("bullmq").option("url", redis_url).option("jobIdColumn", "n").mode("append").save(queue.name)
    waiting = table(spark, redis_url, queue, "jobId string, data struct<n:long,text:string>", states="waiting")
    assert {(row.jobId, row.data.n, row.data.text) for row in waiting.collect()} == {
        (f"n-{n}", n, f"é-{n}") for n in range(100)
    }

    worker(half, name="here").run(until="drained")
    done = table(spark, redis_url, queue)
    counts = {
        (row.state, row.processedBy): row["count"] for row in done.groupBy("state", "processedBy").count().collect()
    }
    assert counts == {("completed", "here"): 50, ("failed", "here"): 50}
    results = table(
        spark, redis_url, queue, "returnvalue struct<half:int,tags:array<string>>, jobId string", states="completed"
    )
    assert {(row.jobId, row.returnvalue.half, *row.returnvalue.tags) for row in results.collect()} == {
        (f"n-{n}", n // 2, "even") for n in range(0, 100, 2)
    }


def test_every_column_has_what_the_job_has(
    spark: SparkSession, queue: Queue, worker: Callable[..., Worker], redis_url: str
) -> None:
    queue.add("task", {"n": 3}, job_id="first", attempts=2, priority=7)
    queue.add("task", {"n": 4}, job_id="second", delay=3_600_000)
    worker(half, name="here").run(until="empty")
    rows = {row.jobId: row for row in table(spark, redis_url, queue).collect()}
    first, job = rows["first"], queue.get_job("first")
    assert job is not None and job.finished_on is not None
    assert (first.name, first.state, first.priority, first.attemptsMade) == ("task", "failed", 7, 2)
    assert (json.loads(first.data), json.loads(first.opts)["attempts"]) == ({"n": 3}, 2)
    assert (first.failedReason, first.returnvalue, first.processedBy) == ("odd: 3", None, "here")
    assert int(first.finishedOn.timestamp() * 1000) == pytest.approx(job.finished_on, abs=1)
    assert first.attemptsStarted == job.attempts_started
    assert (rows["second"].state, rows["second"].delay, rows["second"].finishedOn) == ("delayed", 3_600_000, None)


def test_finished_jobs_are_selected_by_worker_and_by_time(
    spark: SparkSession, queue: Queue, worker: Callable[..., Worker], redis_url: str
) -> None:
    for name, numbers in [("one", range(0, 20, 2)), ("two", range(20, 40, 2))]:
        queue.add_bulk([{"name": "n", "data": {"n": n}} for n in numbers])
        worker(half, name=name).run(until="drained")
    last = max(job.finished_on or 0 for job in queue.get_jobs("completed") if job.processed_by == "one")
    later = {job.id for job in queue.get_jobs("completed") if (job.finished_on or 0) > last}
    by_time = table(spark, redis_url, queue, "jobId string", finishedAfter=str(last))
    assert {row.jobId for row in by_time.collect()} == later
    by_worker = table(spark, redis_url, queue, "jobId string", processedBy="two", states="completed")
    assert {row.jobId for row in by_worker.collect()} == {
        job.id for job in queue.get_jobs("completed") if job.processed_by == "two"
    }


def test_many_tasks_read_each_finished_job_once(
    spark: SparkSession, queue: Queue, worker: Callable[..., Worker], redis_url: str
) -> None:
    queue.add_bulk([{"name": "n", "data": {"n": 2 * n}} for n in range(5_000)])
    worker(half, concurrency=50).run(until="drained")
    ids = [row.jobId for row in table(spark, redis_url, queue, "jobId string", numPartitions="4").collect()]
    assert len(ids) == len(set(ids)) == 5_000


def test_an_empty_queue_is_an_empty_table(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    assert table(spark, redis_url, queue).count() == 0
    assert table(spark, redis_url, queue).columns[:4] == ["jobId", "name", "state", "data"]


def test_a_wrong_read_is_refused_while_spark_plans(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    for schema, options, said in [
        (None, {"state": "failed"}, "bullrush: format 'bullmq' has no option 'state'. Did you mean 'states'?"),
        ("jobId string", {"states": "done"}, "bullrush: option 'states' has no 'done'. There are: waiting, paused"),
        ("id string", {}, "bullrush: "),
        ("attemptsMade string", {}, "bullrush: "),
        ("timestamp int", {}, 'bullrush: Column "timestamp" is a timestamp'),
    ]:
        with pytest.raises(AnalysisException, match="(?m)^" + said.replace("?", r"\?")):
            table(spark, redis_url, queue, schema, **options).collect()
