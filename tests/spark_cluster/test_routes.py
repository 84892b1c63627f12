"""Rows with targets: those that need a GPU run on the executor that has one, also when it dies in the middle."""

import os
from typing import Any

from pyspark.sql import functions as f
from redis import Redis

from bullrush import Queue
from bullrush.spark import drain, enqueue
from tests.driver.ledger import Ledger
from tests.spark_cluster.checking import check_results
from tests.spark_cluster.cluster import DRAIN, GPU, Cluster
from tests.spark_cluster.strikes import striking

ROWS = 20_000
GPU_ROWS = len(range(0, ROWS, 3))


def profile_of_executor() -> dict[str, Any]:
    return {"capabilities": ["gpu"], "region": ["eu"]} if os.environ.get(GPU) else {"region": ["eu"]}


def test_every_row_that_needs_a_gpu_runs_on_the_executor_that_has_one_also_after_it_died(
    cluster: Cluster, queue: Queue, redis: Redis, redis_url: str, ledger: Ledger
) -> None:
    def work(job):
        place = "gpu" if os.environ.get(GPU) else "cpu"
        ledger.begin(f"{place} {job.queue_name}:{job.id}")
        return {"n": job.data["id"]}

    route = queue.route({"capabilities": ["gpu"]})
    with cluster.session() as spark:
        gpu = f.when(f.col("id") % 3 == 0, f.struct(f.array(f.lit("gpu")).alias("capabilities")))
        rows = spark.range(0, ROWS, 1, 8)
        stats = enqueue(rows, queue.name, url=redis_url, job_id="id", data=["id"], target=gpu)
        assert stats.routes == {queue.name: ROWS - GPU_ROWS, route.name: GPU_ROWS}
        with striking((lambda: route.get_completed_count() > GPU_ROWS * 0.3, cluster.gpu_executors)):
            results = drain(spark, queue.name, work, url=redis_url, profile=profile_of_executor, **DRAIN)
        check_results(results, ROWS)
        assert results.groupBy("queue").count().count() == 2
    counts = queue.get_job_counts(routes=True)
    assert {state: count for state, count in counts.items() if count} == {"completed": ROWS}
    starts = [started.partition(" ") for started in ledger.runs]
    assert {place for place, _, job in starts if job.startswith(f"{route.name}:")} == {"gpu"}
    assert len({job for _, _, job in starts}) == ROWS
