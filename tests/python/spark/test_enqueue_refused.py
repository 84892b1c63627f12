"""Wrong arguments of `enqueue` end in a clear error on the driver, before any task starts."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from bullrush import Queue
from bullrush.errors import ConnectionLostError, EnqueueError, InvalidOptionError, QueueNameError
from bullrush.spark import arrow_handler, call, enqueue, enqueue_flows, read_jobs

pytestmark = pytest.mark.spark

#: Arguments, and a part of the error.
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"job_id": "order"}, "No column 'order'; there are id, k, x, m"),
    ({"job_id": 5}, "job_id is the name of a column"),
    ({"opts": '{"attempts": 3}'}, "opts is a dict"),
    ({"job_id": "ID"}, "did you mean 'id'"),
    ({"job_id": "x"}, "job_id: the column 'x' must hold strings or integers, not double"),
    ({"name": "id"}, "name: the column 'id' must hold strings, not bigint"),
    ({"name": "K"}, "differ only in case"),
    ({"data": "id"}, "data is a list of columns"),
    ({"data": ["nope"]}, "No column 'nope'"),
    ({"data": ["m"]}, "The map 'm' has keys of type int"),
    ({"data": ["id"], "opts": {"priority": -1}}, "Priority should be between"),
    ({"data": ["id"], "opts": {"job_id": "x"}}, "use job_id="),
    ({"data": ["id"], "priority": "k"}, "priority: the column 'k' must hold integers, not string"),
    ({"data": ["id"], "priority": 2**30}, "Priority should be between"),
    ({"data": ["id"], "delay": "x"}, "delay: the column 'x' must hold integers"),
    ({"data": ["id"], "parent": "id"}, "parent: the column 'id' must hold ids as strings, or structs"),
    ({"data": ["id"], "opts_column": "id"}, "opts_column: the column 'id' must hold structs or JSON strings"),
    ({"data": ["id"], "opts_column": {"attempts": 1}}, "opts_column must be a column"),
    ({"data": ["id"], "batch_id": "a:b"}, "batch_id cannot contain a colon"),
    ({"data": ["id"], "on_oom": "retry"}, "on_oom must be 'fail' or 'wait'"),
    ({"data": ["id"], "durable": "disk"}, "durable must be True, False, 'replica' or 'aof'"),
    ({"data": ["id"], "max_waiting": -1}, "max_waiting must be"),
]


def test_wrong_arguments_are_refused_before_any_task_starts(
    spark: SparkSession, queue: Queue, redis_url: str, redis
) -> None:
    rows = spark.range(5).selectExpr("id", "'a' AS k", "1.5D AS x", "map(1, 'a') AS m")
    for options, message in WRONG:
        with pytest.raises(InvalidOptionError) as caught:
            enqueue(rows, queue.name, url=redis_url, **options)
        assert message in str(caught.value), options
    with pytest.raises(InvalidOptionError, match="Two columns are named 'id'"):
        enqueue(spark.range(1).select("id", "id"), queue.name, url=redis_url)
    with pytest.raises(InvalidOptionError, match="years and months inside"):
        enqueue(spark.sql("SELECT array(INTERVAL '1' YEAR) AS a"), queue.name, url=redis_url)
    with pytest.raises(QueueNameError):
        enqueue(rows, "a:b", url=redis_url)
    assert redis.keys(f"*{queue.name}*") == []


def test_what_is_no_frame_with_an_end_is_refused(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    for wrong in ([{"id": 1}], spark.range(1).toPandas()):
        with pytest.raises(InvalidOptionError, match="must be a Spark DataFrame"):
            enqueue(wrong, queue.name, url=redis_url)  # type: ignore[arg-type]
    with pytest.raises(InvalidOptionError, match="foreachBatch"):
        enqueue(spark.readStream.format("rate").load(), queue.name, url=redis_url)


def test_a_row_that_cannot_be_a_job_ends_the_call_with_its_batch_id(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    bad = spark.range(5).select(f.concat(f.lit("a:"), "id").alias("key"))
    with pytest.raises(EnqueueError, match="Custom Id cannot contain :.* repeat with batch_id='today' to") as caught:
        enqueue(bad, queue.name, url=redis_url, job_id="key", batch_id="today")
    assert caught.value.batch_id == "today"
    assert queue.get_job_counts("waiting")["waiting"] == 0
    stats = enqueue(bad, queue.name, url=redis_url, job_id="key", on_invalid="skip")
    assert (stats.added, stats.skipped) == (0, 5)


def test_redis_is_asked_on_the_driver_before_any_task_starts(spark: SparkSession, queue: Queue) -> None:
    rows = spark.range(3)
    calls: list[Callable[[str], Any]] = [
        lambda url: enqueue(rows, queue.name, url=url),
        lambda url: enqueue_flows(rows, queue.name, by="id", children_queue=queue.name, url=url),
        lambda url: call(rows, queue.name, url=url),
        lambda url: read_jobs(spark, queue.name, url=url),
    ]
    for each in calls:
        with pytest.raises(InvalidOptionError, match="must start with redis://"):
            each("127.0.0.1:6379")
        with pytest.raises(ConnectionLostError, match="cannot reach Redis"):
            each("redis://127.0.0.1:1")


def test_a_schema_may_be_a_struct_type_and_a_wrong_one_is_named(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    schema = StructType().add("jobId", "string", nullable=False)
    assert read_jobs(spark, queue.name, url=redis_url, schema=schema).columns == ["jobId"]
    for wrong in ("x duble", "x double, x long"):
        with pytest.raises(InvalidOptionError, match="input "):
            arrow_handler(len, input=wrong)
        with pytest.raises(InvalidOptionError, match="returns "):
            call(spark.range(1), queue.name, url=redis_url, returns=wrong)
    arrow_handler(len, input=StructType().add("x", "double"))


def test_executors_with_another_python_are_an_error_that_says_so(
    spark: SparkSession, queue: Queue, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "python3"
    bare.write_text(f'#!/bin/sh\nexec "{sys._base_executable}" -S "$@"\n')  # type: ignore[attr-defined]
    bare.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(bare))
    with pytest.raises(EnqueueError, match="No module.* named .*set PYSPARK_PYTHON"):
        enqueue(spark.range(1), queue.name, url=redis_url)
