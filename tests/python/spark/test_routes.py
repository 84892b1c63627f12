"""Rows with targets: they become jobs of the routes of their targets."""

from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as f
from redis import Redis

from bullrush import Queue
from bullrush.errors import EnqueueError, InvalidOptionError
from bullrush.spark import enqueue

pytestmark = pytest.mark.spark

GPU = {"capabilities": ["gpu"]}


@pytest.fixture
def gpu(queue: Queue) -> Queue:
    return queue.route(GPU)


def gpu_for_every(nth: int) -> Column:
    return f.when(f.col("id") % nth == 0, f.struct(f.array(f.lit("gpu")).alias("capabilities")))


def waiting(queue: Queue) -> list[str]:
    return sorted(job.id for job in queue.get_jobs("waiting"))


def test_rows_go_to_the_routes_of_their_targets_and_keep_their_ids(
    spark: SparkSession, queue: Queue, gpu: Queue, redis_url: str
) -> None:
    rows = spark.sql(
        """SELECT * FROM VALUES
             (1, named_struct('server', NULL, 'capabilities', array('gpu'), 'region', NULL)),
             (2, NULL),
             (3, named_struct('server', NULL, 'capabilities', array(), 'region', NULL)),
             (4, named_struct('server', 'exec-17', 'capabilities', NULL, 'region', array('eu'))),
             (5, named_struct('server', NULL, 'capabilities', array('gpu', 'gpu'), 'region', NULL))
           AS rows(n, needs)"""
    )
    stats = enqueue(rows, queue.name, url=redis_url, job_id="n", data=["n"], target="needs")
    server = queue.route({"server": "exec-17"})
    assert (stats.added, stats.duplicates) == (5, 0)
    assert stats.routes == {queue.name: 2, gpu.name: 2, server.name: 1}
    assert waiting(queue) == ["n-2", "n-3"]
    assert waiting(gpu) == ["n-1", "n-5"]
    assert waiting(server) == ["n-4"]
    (job,) = server.get_jobs("waiting")
    assert (job.data, job.name) == ({"n": 4}, queue.name)


def test_a_batch_that_is_repeated_adds_nothing_to_any_route(
    spark: SparkSession, queue: Queue, gpu: Queue, redis_url: str
) -> None:
    rows = spark.range(0, 300, 1, 2).selectExpr("id % 150 AS id")  # each row twice
    for added in ({queue.name: 200, gpu.name: 100}, {queue.name: 0, gpu.name: 0}):
        stats = enqueue(rows, queue.name, url=redis_url, batch_id="day", target=gpu_for_every(3), data=["id"])
        assert stats.routes == added
        assert stats.added + stats.duplicates == 300
    assert (queue.get_waiting_count(), gpu.get_waiting_count()) == (200, 100)
    more = rows.withColumn("id", f.col("id") + 150)
    assert enqueue(more, queue.name, url=redis_url, batch_id="day", target=GPU).routes == {gpu.name: 300}


def test_one_target_serves_all_rows(spark: SparkSession, queue: Queue, gpu: Queue, redis_url: str) -> None:
    assert enqueue(spark.range(7), queue.name, url=redis_url, target=GPU).routes == {gpu.name: 7}
    assert enqueue(spark.range(3), queue.name, url=redis_url, target={}).routes == {queue.name: 3}
    assert enqueue(spark.range(2), queue.name, url=redis_url).routes == {queue.name: 2}
    assert gpu.get_waiting_count() == 7


STRUCT = "named_struct('capabilities', array('gpu'))"
#: The target, and a part of the error.
WRONG: list[tuple[Any, str]] = [
    ({"capability": ["gpu"]}, "Did you mean 'capabilities'?"),
    ({"capabilities": "gpu"}, r"must be a list: \['gpu'\]"),
    ({"capabilities": ["g p u"]}, "g p u"),
    ("needs", "No column 'needs'"),
    ("id", "target: the column 'id' must hold structs with the fields of a target .*, not bigint"),
    ("misspelt", "has the field 'capability'.* Did you mean 'capabilities'?"),
    ("text", "capabilities must be an array of strings, not string"),
    ("number", "server must be a string, not int"),
    (["gpu"], "target must be a column, or a value for all jobs"),
]


def test_a_wrong_target_is_reported_on_the_driver(
    spark: SparkSession, queue: Queue, redis_url: str, redis: Redis
) -> None:
    rows = spark.range(3).selectExpr(
        "id",
        "named_struct('capability', array('gpu')) AS misspelt",
        "named_struct('capabilities', 'gpu') AS text",
        "named_struct('server', 5) AS number",
    )
    for target, message in WRONG:
        with pytest.raises(InvalidOptionError, match=message):
            enqueue(rows, queue.name, url=redis_url, target=target)
    with pytest.raises(InvalidOptionError, match="give target= instead"):
        enqueue(rows, queue.name, url=redis_url, opts={"target": GPU})
    for target in (GPU, f.expr(STRUCT)):
        with pytest.raises(InvalidOptionError, match="is a route"):
            enqueue(rows, f"{queue.name}~cap.gpu", url=redis_url, target=target)
        with pytest.raises(InvalidOptionError, match="must hold structs of id and queue, since ids are per queue"):
            enqueue(rows, queue.name, url=redis_url, target=target, parent=f.lit("p"))
    assert redis.keys(f"*{queue.name}*") == []


def test_a_row_with_a_wrong_target_ends_the_call_or_is_left_out(
    spark: SparkSession, queue: Queue, gpu: Queue, redis_url: str
) -> None:
    rows = spark.range(4)
    target = f.expr("named_struct('capabilities', array(if(id = 2, 'no token', 'gpu')))")
    with pytest.raises(EnqueueError, match="no token.*mend that first"):
        enqueue(rows, queue.name, url=redis_url, target=target)
    stats = enqueue(rows, queue.name, url=redis_url, target=target, on_invalid="skip", batch_id="b")
    assert (stats.added, stats.skipped, stats.duplicates) == (3, 1, 0)
    assert stats.routes[gpu.name] == 3
