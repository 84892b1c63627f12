import pytest
from redis import Redis

from bullrush import Queue
from bullrush.spark import drain, enqueue
from tests.driver.ledger import Ledger
from tests.spark_cluster.checking import check_results, check_runs
from tests.spark_cluster.cluster import DRAIN, Cluster
from tests.spark_cluster.strikes import striking

KILLS = 8


@pytest.mark.parametrize("prefetch", [None, 0])
def test_eight_python_workers_die_and_every_job_has_its_row(
    cluster: Cluster, queue: Queue, redis: Redis, redis_url: str, ledger: Ledger, rows: int, prefetch: int | None
) -> None:
    def work(job):
        ledger.begin(job.id)
        return {"n": job.data["id"]}

    def share_is_done(number: int) -> bool:
        return queue.get_completed_count() > rows * number / (KILLS + 1)

    kills = [(lambda number=number: share_is_done(number), cluster.python_workers) for number in range(1, KILLS + 1)]
    with cluster.session() as spark:
        enqueue(spark.range(0, rows, 1, 8), queue.name, url=redis_url, job_id="id")
        with striking(*kills):
            results = drain(spark, queue.name, work, url=redis_url, max_stalled_count=KILLS, prefetch=prefetch, **DRAIN)
        check_results(results, rows)
        check_runs(queue, redis, ledger, rows, claims=prefetch is None)
