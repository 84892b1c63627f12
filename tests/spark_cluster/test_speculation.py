from signal import SIGSTOP

from redis import Redis

from bullrush import Queue
from bullrush.spark import drain, enqueue
from tests.driver.ledger import Ledger
from tests.spark_cluster.checking import check_results, check_runs
from tests.spark_cluster.cluster import DRAIN, Cluster
from tests.spark_cluster.strikes import striking

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "300ms",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.quantile": "0.25",
    "spark.speculation.minTaskRuntime": "1s",
}
SLOW = "id-5"


def test_the_copy_of_a_slow_task_ends_it_and_the_job_it_was_running_still_has_its_row(
    cluster: Cluster, queue: Queue, redis: Redis, redis_url: str, ledger: Ledger, rows: int
) -> None:
    def work(job):
        ledger.begin(job.id)
        if job.id == SLOW and job.attempts_started == 1:
            import time

            time.sleep(240)
        return {"n": job.data["id"]}

    with cluster.session(**SPECULATION) as spark:
        stats = enqueue(spark.range(0, rows, 1, 8), queue.name, url=redis_url, job_id="id")
        assert stats.added == rows
        results = drain(spark, queue.name, work, url=redis_url, until="empty", **DRAIN)
        check_results(results, rows)
        assert SLOW in check_runs(queue, redis, ledger, rows), "Spark started no copy of the slow task"


def test_the_copy_of_a_task_that_hangs_adds_its_rows_and_none_twice(
    cluster: Cluster, queue: Queue, redis_url: str, rows: int
) -> None:
    with cluster.session(**SPECULATION) as spark:
        frame = spark.range(0, rows, 1, 16)
        with striking((lambda: queue.get_waiting_count() > rows * 0.3, cluster.python_workers), signal=SIGSTOP):
            stats = enqueue(frame, queue.name, url=redis_url)
        assert (stats.added, stats.duplicates) == (rows, 0)
        assert queue.get_waiting_count() == rows
        assert enqueue(frame, queue.name, url=redis_url, batch_id=stats.batch_id).added == 0
