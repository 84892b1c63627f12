from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bullrush import Queue, Worker
from bullrush.errors import EnqueueError, InvalidOptionError, JobFailedError
from bullrush.spark import call

pytestmark = pytest.mark.spark


def test_rows_get_the_results_of_workers_outside_of_spark_and_jobs_run_once(
    spark: SparkSession, queue: Queue, redis_url: str, worker: Callable[..., Worker]
) -> None:
    runs = []

    def score(job: Any) -> dict[str, float]:
        runs.append(job.id)
        return {"score": job.data["id"] / 2, "label": job.name}

    worker(score, concurrency=4, autorun=True)
    frame = spark.range(0, 600, 1, 2).withColumn("odd.name", f.lit("x"))
    scored = call(frame, queue.name, url=redis_url, name="score", in_flight=50, returns="score double, label string")
    assert len(runs) == 600, "the jobs have run when the call returns"
    assert scored.columns == ["id", "odd.name", "score", "label", "error"]
    rows = scored.collect()
    assert [row.id for row in rows] == list(range(600)), "in the order of the rows"
    assert {(row.score == row.id / 2, row.label, row.error) for row in rows} == {(True, "score", None)}
    assert scored.filter("score > 100").count() == 399
    assert len(runs) == 600
    scored.unpersist()


def test_failures_are_a_column_or_one_error_with_their_number(
    spark: SparkSession, queue: Queue, redis_url: str, worker: Callable[..., Worker]
) -> None:
    def picky(job: Any) -> int:
        if job.data["id"] % 10 == 3:
            raise ValueError("no threes")
        return job.data["id"]

    worker(picky, concurrency=4, autorun=True)
    answered = call(spark.range(30), queue.name, url=redis_url, batch_id="day", returns="n long")
    rows = {row.id: (row.n, row.error) for row in answered.collect()}
    assert rows[3] == rows[13] == (None, "no threes")
    assert rows[4] == (4, None)
    with pytest.raises(JobFailedError, match="3 of 30 rows have no result .*batch id day.*: no threes"):
        call(spark.range(30), queue.name, url=redis_url, batch_id="day", on_error="raise")
    assert queue.get_completed_count() == 27, "the second call ran nothing"


def test_a_call_whose_tasks_fail_says_why_and_with_which_id_to_go_on(
    spark: SparkSession, queue: Queue, redis_url: str, worker: Callable[..., Worker]
) -> None:
    worker(lambda job: job.data["id"], autorun=True)
    named = spark.range(0, 20, 1, 1).withColumn("key", f.concat(f.lit("k"), f.col("id")))
    with pytest.raises(EnqueueError, match="InvalidOptionError: .*mend that first") as failed:
        call(named.withColumn("key", f.when(f.col("id") < 19, f.col("key"))), queue.name, url=redis_url, job_id="key")
    again = call(named, queue.name, url=redis_url, job_id="key", batch_id=failed.value.batch_id, returns="n long")
    assert [row.n for row in again.collect()] == list(range(20))
    assert queue.get_completed_count() == 20


def test_wrong_arguments_are_refused_before_anything_is_written(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    rows = spark.range(3)
    wrong: list[dict[str, Any]] = [
        {"on_error": "ignore"},
        {"in_flight": 0},
        {"timeout": 0},
        {"data": "id"},
        {"job_id": "order"},
        {"returns": "id long"},
        {"opts": {"remove_on_complete": True}},
        {"opts": {"remove_on_fail": {"count": 0}}},
    ]
    for options in wrong:
        with pytest.raises(InvalidOptionError):
            call(rows, queue.name, url=redis_url, **options)
    assert queue.get_job_counts("waiting")["waiting"] == 0
