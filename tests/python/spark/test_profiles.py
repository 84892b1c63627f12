"""Workers in tasks that have profiles: they run the jobs of the routes that match."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from redis import Redis

from bullrush import Queue
from bullrush.errors import DrainError, InvalidOptionError
from bullrush.spark import drain, enqueue, worker

pytestmark = pytest.mark.spark

GPU = {"capabilities": ["gpu"]}


@pytest.fixture
def gpu(queue: Queue) -> Queue:
    return queue.route(GPU)


def mixed(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    rows = spark.range(0, 60, 1, 2)
    needs = f.when(f.col("id") % 3 == 0, f.struct(f.array(f.lit("gpu")).alias("capabilities")))
    enqueue(rows, queue.name, url=redis_url, job_id="id", data=["id"], target=needs)


def profile_in_task() -> dict[str, list[str]]:
    from pyspark import TaskContext

    return GPU if TaskContext.get().partitionId() == 0 else {"capabilities": []}


@pytest.mark.parametrize("results", ["redis", "tasks"])
def test_workers_with_a_profile_run_the_jobs_of_their_routes_and_results_name_the_queue(
    spark: SparkSession, queue: Queue, gpu: Queue, redis_url: str, results: Any
) -> None:
    mixed(spark, queue, redis_url)
    # Ids are per queue: this one is in both.
    gpu.add("n", {"id": 100}, job_id="id-1")
    found = drain(
        spark,
        queue.name,
        lambda job: job.data["id"],
        url=redis_url,
        workers=2,
        profile=profile_in_task,
        returns="n long",
        results=results,
    )
    rows = found.collect()
    assert found.columns[6:] == ["ms", "queue", "n"]
    assert sorted(row.n for row in rows) == [*range(60), 100]
    assert {row.n for row in rows if row.queue == gpu.name} == {*range(0, 60, 3), 100}
    assert {row.queue for row in rows if row.jobId == "id-1"} == {queue.name, gpu.name}


def test_the_worker_of_a_partition_serves_routes_too(
    spark: SparkSession, queue: Queue, gpu: Queue, redis_url: str
) -> None:
    mixed(spark, queue, redis_url)
    work = worker(queue.name, lambda job: job.data["id"], url=redis_url, profile=GPU)
    done = spark.sparkContext.parallelize(range(2), 2).mapPartitions(work).collect()
    assert sorted(one.result for one in done if one.queue == gpu.name) == list(range(0, 60, 3))
    assert len(done) == 60
    assert spark.range(1).mapInArrow(work, work.schema).columns[-1] == "queue"


@pytest.mark.parametrize("results", ["redis", "tasks"])
def test_a_drain_whose_time_is_over_fails_with_the_jobs_that_nobody_matches(
    spark: SparkSession, queue: Queue, gpu: Queue, redis_url: str, results: Any
) -> None:
    mixed(spark, queue, redis_url)
    with pytest.raises(DrainError, match=rf"20 in '{gpu.name}'"):
        drain(
            spark,
            queue.name,
            lambda job: None,
            url=redis_url,
            workers=1,
            profile=lambda: {"region": ["eu"]},
            max_seconds=2,
            results=results,
        )
    assert queue.get_completed_count() == 40
    drain(spark, queue.name, lambda job: None, url=redis_url, workers=1, profile={"region": ["eu"]}, until="empty")


def test_a_profile_that_is_none_is_reported(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    def run(profile: Any) -> None:
        drain(spark, queue.name, lambda job: None, url=redis_url, workers=1, profile=profile)

    with pytest.raises(InvalidOptionError, match="profile is a dict, or a function that returns one"):
        run(["gpu"])
    with pytest.raises(InvalidOptionError, match="Did you mean 'capabilities'"):
        run({"capability": ["gpu"]})
    with pytest.raises(InvalidOptionError, match="profile"):
        run({"capabilities": ["gpu:*"]})
    client = Redis()
    with pytest.raises(InvalidOptionError, match="profile .*'client'"):
        run(lambda: {"capabilities": client.lrange("capabilities", 0, -1)})
    with pytest.raises(DrainError, match="must return a dict, not None"):
        run(lambda: None)
