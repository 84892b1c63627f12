import pytest
from pyspark.sql import SparkSession

from bullrush import Queue
from bullrush.errors import InvalidOptionError
from bullrush.spark import JobResult, drain, enqueue, progress, worker

pytestmark = pytest.mark.spark


def test_executors_work_the_queue_and_the_results_are_a_frame(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    def square(job):
        return {"square": job.data["id"] ** 2, "label": f"n{job.data['id']}"}

    enqueue(spark.range(1000), queue.name, url=redis_url, name="square")
    results = drain(spark, queue.name, square, url=redis_url, workers=2, returns="square long, label string")
    assert results.columns == [*JobResult._fields, "square", "label"]
    rows = results.collect()
    assert {(row.name, row.state, row.attempts, row.error) for row in rows} == {("square", "completed", 1, None)}
    assert sorted(row.square for row in rows) == [n * n for n in range(1000)]
    assert all(row.ms >= 0 and row.label for row in rows)
    assert len({row.jobId for row in rows}) == 1000
    counts = queue.get_job_counts("waiting", "active", "completed", "failed")
    assert (counts["waiting"], counts["active"], counts["completed"], counts["failed"]) == (0, 0, 1000, 0)


def test_the_jobs_run_once_however_often_the_results_are_used(
    spark: SparkSession, queue: Queue, redis_url: str, redis
) -> None:
    key, url = f"bull:{queue.name}:runs", redis_url

    def count(job):
        from redis import Redis

        return Redis.from_url(url).incr(key)

    enqueue(spark.range(50), queue.name, url=redis_url)
    results = drain(spark, queue.name, count, url=redis_url, returns="run long")
    assert results.count() == 50
    assert sorted(row.run for row in results.collect()) == list(range(1, 51)), "one column takes a plain result"
    assert results.limit(3).count() == 3
    assert int(redis.get(key)) == 50


def test_a_failed_job_is_a_row_with_its_reason(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    def picky(job):
        if job.data["id"] == 3:
            raise ValueError("no threes")
        return job.data["id"]

    enqueue(spark.range(5), queue.name, url=redis_url, opts={"attempts": 2})
    rows = drain(spark, queue.name, picky, url=redis_url, returns="n long").collect()
    (failed,) = [row for row in rows if row.state == "failed"]
    assert (failed.error, failed.attempts, failed.result, failed.n) == ("no threes", 2, None, None)
    assert sorted(row.n for row in rows if row.state == "completed") == [0, 1, 2, 4]


def test_async_and_batch_handlers_work_as_in_a_worker(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    async def twice(job):
        import asyncio

        await asyncio.sleep(0.001)
        return 2 * job.data["id"]

    def thrice(jobs):
        return [3 * job.data["id"] for job in jobs]

    enqueue(spark.range(100), queue.name, url=redis_url)
    rows = drain(spark, queue.name, twice, url=redis_url, concurrency=20, returns="n long").collect()
    assert sorted(row.n for row in rows) == list(range(0, 200, 2))
    enqueue(spark.range(100), queue.name, url=redis_url)
    rows = drain(spark, queue.name, url=redis_url, batch_handler=thrice, batch_size=30, returns="n long").collect()
    assert sorted(row.n for row in rows) == list(range(0, 300, 3))


def test_the_worker_of_a_partition_also_serves_rdds(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    enqueue(spark.range(200), queue.name, url=redis_url)
    work = worker(queue.name, lambda job: {"n": job.data["id"]}, url=redis_url)
    results = spark.sparkContext.parallelize(range(2), 2).mapPartitions(work).collect()
    assert {type(result) for result in results} == {JobResult}
    assert sorted(result.result["n"] for result in results) == list(range(200))


def test_an_empty_queue_gives_an_empty_frame(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    results = drain(spark, queue.name, lambda job: None, url=redis_url)
    assert results.columns == list(JobResult._fields)
    assert results.count() == 0


def test_a_drain_ends_after_max_jobs_and_leaves_the_rest(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    enqueue(spark.range(100), queue.name, url=redis_url)
    results = drain(spark, queue.name, lambda job: None, url=redis_url, workers=1, until=None, max_jobs=30)
    assert results.count() == 30
    counts = queue.get_job_counts("waiting", "active", "completed")
    assert (counts["waiting"], counts["active"], counts["completed"]) == (70, 0, 30)


def test_a_reader_that_stops_early_stops_the_worker_and_nothing_is_lost(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    # Enough results that they do not all fit into the buffers on the way.
    enqueue(spark.range(20_000), queue.name, url=redis_url)
    work = worker(queue.name, lambda job: "x" * 200, url=redis_url, until=None, max_seconds=100)
    rows = spark.range(0, 1, 1, 1).mapInArrow(work, work.schema).limit(5).collect()
    assert len(rows) == 5
    drain(spark, queue.name, lambda job: None, url=redis_url)
    counts = queue.get_job_counts("waiting", "active", "completed")
    assert (counts["waiting"], counts["active"], counts["completed"]) == (0, 0, 20_000)


def test_wrong_arguments_are_refused_on_the_driver(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    wrong = (
        {"until": None},
        {"concurrency": 0},
        {"concurency": 2},
        {"until": "done"},
        {"returns": "state string"},
    )
    for options in wrong:
        with pytest.raises(InvalidOptionError):
            drain(spark, queue.name, lambda job: None, url=redis_url, **options)


def test_the_progress_bar_counts_what_happens_in_redis(
    spark: SparkSession, queue: Queue, redis_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress(queue.name, url=redis_url, count="added", total=300) as added:
        enqueue(spark.range(300), queue.name, url=redis_url)
    assert added.n == 300
    with progress(queue.name, url=redis_url) as finished:
        drain(spark, queue.name, lambda job: None, url=redis_url, remove_on_complete=True)
    assert (finished.n, finished.total) == (300, 300)
    assert "0 waiting, 0 active, 0 completed, 0 failed" in capsys.readouterr().err
