import os
import signal

from redis import Redis

from bullrush import Queue, Worker
from bullrush.spark import call, drain, enqueue
from tests.driver.ledger import Ledger
from tests.spark_cluster.checking import check_results, check_runs
from tests.spark_cluster.cluster import DRAIN, Cluster
from tests.spark_cluster.strikes import striking


def test_an_executor_dies_in_each_phase_and_every_job_is_added_and_has_its_row(
    cluster: Cluster, queue: Queue, redis: Redis, redis_url: str, ledger: Ledger, rows: int
) -> None:
    def work(job):
        ledger.begin(job.id)
        return {"n": job.data["id"]}

    with cluster.session() as spark:
        with striking((lambda: queue.get_waiting_count() > rows * 0.3, cluster.executors)):
            stats = enqueue(spark.range(0, rows, 1, 8), queue.name, url=redis_url, job_id="id")
        assert stats.added == rows
        assert queue.get_waiting_count() == rows
        cluster.wait_for_executors()
        with striking((lambda: queue.get_completed_count() > rows * 0.3, cluster.executors)):
            results = drain(spark, queue.name, work, url=redis_url, **DRAIN)
        check_results(results, rows)
        check_runs(queue, redis, ledger, rows)
        former = cluster.wait_for_executors()
        for pid in former:
            os.kill(pid, signal.SIGKILL)
        cluster.wait_for_executors(other_than=former)
        check_results(results, rows)


def test_an_executor_dies_while_rows_are_read_and_the_frame_has_each_row_once(
    cluster: Cluster, queue: Queue, redis_url: str, ledger: Ledger, rows: int
) -> None:
    def noting(batches):
        for batch in batches:
            ledger.begin("batch")
            yield batch

    with cluster.session() as spark:
        enqueue(spark.range(0, rows, 1, 8), queue.name, url=redis_url, job_id="id")
        returns = "n long"
        results = drain(
            spark, queue.name, lambda job: {"n": job.data["id"]}, url=redis_url, concurrency=8, returns=returns
        )
        seen = results.mapInArrow(noting, results.schema)
        with striking((lambda: ledger.runs["batch"] > 1, cluster.executors)):
            check_results(seen, rows)


def test_an_executor_dies_while_rows_wait_for_their_results_and_every_job_runs_once(
    cluster: Cluster, queue: Queue, redis_url: str
) -> None:
    rows = 2_000
    starts: list[str] = []

    def work(job):
        starts.append(job.id)
        return job.data["id"]

    with cluster.session() as spark, Worker(queue.name, work, url=redis_url, concurrency=4, autorun=True):
        with striking((lambda: queue.get_completed_count() > rows * 0.3, cluster.executors)):
            answered = call(spark.range(0, rows, 1, 8), queue.name, url=redis_url, in_flight=50, returns="n long")
        assert sorted(row.n for row in answered.filter("n = id and error IS NULL").collect()) == list(range(rows))
    assert len(starts) == len(set(starts)) == rows
