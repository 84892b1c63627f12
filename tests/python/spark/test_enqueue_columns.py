"""Columns that give options to each row, and columns that are hard to hand over."""

import json

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bullrush import Queue
from bullrush.errors import InvalidOptionError
from bullrush.spark import enqueue

pytestmark = pytest.mark.spark


def test_columns_give_each_row_its_own_options(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    parent = queue.add("parent", {}, job_id="p")
    rows = spark.sql(
        """SELECT * FROM VALUES
             (0, named_struct('attempts', 3), 5, NULL, NULL),
             (1, named_struct('attempts', NULL), NULL, INTERVAL '1' HOUR, NULL),
             (2, NULL, NULL, NULL, 'p')
           AS rows(n, more, urgency, wait, family)"""
    )
    stats = enqueue(
        rows,
        queue.name,
        url=redis_url,
        data=["n"],
        opts={"attempts": 2},
        opts_column="more",
        priority=f.col("urgency") + 1,
        delay="wait",
        parent="family",
    )
    assert stats.added == 3
    (urgent,), (later,) = queue.get_jobs("prioritized"), queue.get_jobs("delayed")
    (child,) = [job for job in queue.get_jobs("waiting") if job.id != parent.id]
    assert (urgent.data, urgent.priority, urgent.opts["attempts"]) == ({"n": 0}, 6, 3)
    assert (later.data, later.delay, later.opts["attempts"]) == ({"n": 1}, 3_600_000, 2)
    assert (child.data, child.parent_key, child.opts["attempts"]) == ({"n": 2}, queue.to_key("p"), 2)
    enqueue(spark.range(1), queue.name, url=redis_url, priority=7, delay=1)
    assert {job.opts["priority"] for job in queue.get_jobs("delayed") if job.id != later.id} == {7}


def test_columns_that_are_hard_to_hand_over_are_right(spark: SparkSession, queue: Queue, redis_url: str, redis) -> None:
    rows = spark.sql(
        """SELECT 9007199254740993L AS `a.b`, array(1L) AS `list`, NULL AS nothing,
             INTERVAL '1-2' YEAR TO MONTH AS months, INTERVAL '1 02:03:04' DAY TO SECOND AS days"""
    )
    expected = {
        "a.b": "9007199254740993",
        "list": ["1"],
        "nothing": None,
        "months": "P14M",
        "days": "PT93784S",
    }
    calendar = rows.withColumn("calendar", f.expr("make_interval(1, 2, 3, 4, 5, 6, 7)"))
    if hasattr(f, "parse_json"):  # since Spark 4.0
        expected["calendar"] = "P1Y2M25DT5H6M7S"
        rows = calendar.withColumn("variant", f.parse_json(f.lit('{"b": [1, 2.5, "x", null]}')))
        expected["variant"] = {"b": [1, 2.5, "x", None]}
    else:
        with pytest.raises(InvalidOptionError, match="cannot describe a column .* cast intervals to strings"):
            enqueue(calendar, queue.name, url=redis_url)
    assert enqueue(rows, queue.name, url=redis_url, longs_as_strings=True, batch_id="b").added == 1
    (job,) = queue.get_jobs("waiting")
    assert json.loads(redis.hget(queue.to_key(job.id), "data")) == expected


def test_rows_without_columns_are_jobs_without_data(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    rows = spark.range(3).select()
    assert [enqueue(rows, queue.name, url=redis_url, batch_id="b").added for _ in range(2)] == [3, 0]
    assert {json.dumps(job.data) for job in queue.get_jobs("waiting")} == {"{}"}
