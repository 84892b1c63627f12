import logging
import threading
import time

import pytest
from pyspark.sql import SparkSession

from bullrush import Queue, Worker
from bullrush.errors import (
    ConnectionLostError,
    DrainError,
    InvalidOptionError,
    QueueNameError,
    QueuePausedError,
    RedisServerError,
)
from bullrush.spark import JobResult, drain, enqueue, progress, worker
from bullrush.spark.address import Address
from bullrush.spark.results import JOB_COLUMNS

pytestmark = pytest.mark.spark


def test_executors_work_the_queue_and_the_results_are_a_frame(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    def square(job):
        return {"square": job.data["id"] ** 2, "label": f"n{job.data['id']}"}

    enqueue(spark.range(1000), queue.name, url=redis_url, name="square")
    results = drain(spark, queue.name, square, url=redis_url, workers=2, returns="square long, label string")
    assert results.columns == [*JOB_COLUMNS, "square", "label"]
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
    assert results.columns == list(JOB_COLUMNS)
    assert results.count() == 0


def test_rows_have_the_data_and_nested_results_and_removed_jobs(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    queue.add_bulk([{"name": "n", "data": {"n": n}, "opts": {"remove_on_complete": n == 2}} for n in range(3)])

    def nested(job):
        return {"point": {"x": job.data["n"]}, "tags": ["a", str(job.data["n"])], "at": "2024-05-01T12:30:00Z"}

    returns = "point struct<x int>, tags array<string>, at timestamp"
    rows = drain(spark, queue.name, nested, url=redis_url, data=True, returns=returns).collect()
    assert list(rows[0].asDict()) == [*JOB_COLUMNS, "data", "point", "tags", "at"]
    found = {
        row.jobId: (row.state, row.data, row.point and row.point.x, row.tags, row.at and row.at.year) for row in rows
    }
    assert found == {
        "1": ("completed", '{"n":0}', 0, ["a", "0"], 2024),
        "2": ("completed", '{"n":1}', 1, ["a", "1"], 2024),
        "3": ("removed", None, None, None, None),
    }


def test_results_are_read_anew_and_stay_when_their_job_changes(
    spark: SparkSession, queue: Queue, redis_url: str
) -> None:
    enqueue(spark.range(5), queue.name, url=redis_url, job_id="id")
    results = drain(spark, queue.name, lambda job: job.data["id"], url=redis_url, run="nightly", returns="n long")
    assert sorted(row.n for row in results.collect()) == list(range(5))
    queue.get_job("id-3").remove()
    assert results.count() == 5
    assert [row.jobId for row in results.filter("state = 'removed'").collect()] == ["id-3"]
    assert {job.processed_by.partition(".")[0] for job in queue.get_completed()} == {"nightly"}
    enqueue(spark.range(5, 7), queue.name, url=redis_url, job_id="id")
    more = drain(spark, queue.name, lambda job: None, url=redis_url, run="nightly")
    assert sorted(row.jobId for row in more.collect()) == ["id-5", "id-6"], "those of this call"


def test_jobs_of_a_copy_that_spark_ended_run_in_another_round(
    spark: SparkSession, queue: Queue, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A copy of a task saw an empty queue and ended first, so Spark ended the original in the middle of a job."""
    queue.add_bulk([{"name": "n", "data": n} for n in range(30)])
    # Only the driver looks for such jobs: tasks that take longer than a second would find it themselves.
    quick = {"lock_duration": 1_000, "skip_stalled_check": True, "run": "twice"}
    # What such a task leaves: a job in `active` under a lock that nobody renews.
    left = Worker(queue.name, url=redis_url, lock_duration=1_000, run="twice", name="twice.0")
    job = left.get_next_job(f"{left.id}:1")
    with caplog.at_level(logging.INFO, "bullrush"):
        rows = drain(spark, queue.name, lambda job: job.data, url=redis_url, until="empty", returns="n int", **quick)
    assert sorted(row.n for row in rows.collect()) == list(range(30))
    assert [text for text in caplog.messages if "round" in text] == [
        f"drain of {queue.name}, run twice: round 2, since tasks that ended early had left 1 jobs active"
    ]
    assert queue.get_job(job.id).attempts_started == 2
    assert queue.get_active_count() == 0


def test_a_driver_that_does_not_know_the_address_asks_redis_through_tasks(
    spark: SparkSession, queue: Queue, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with ``url="env:REDIS_URL"``, if only the executors have that variable."""
    monkeypatch.setattr(Address, "is_known_here", lambda self: False)
    enqueue(spark.range(20), queue.name, url=redis_url)
    assert drain(spark, queue.name, lambda job: None, url=redis_url, workers=1).count() == 20
    queue.pause()
    with pytest.raises(QueuePausedError):
        drain(spark, queue.name, lambda job: None, url=redis_url)


def test_a_job_that_ends_its_process_fails_alone(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    """It takes two processes with it. Jobs of its batch ran twice, those of the other worker once."""

    def crash(jobs):
        import os

        for job in jobs:
            if job.data["id"] == 7:
                os._exit(9)
        return [job.data["id"] for job in jobs]

    enqueue(spark.range(40), queue.name, url=redis_url, job_id="id")
    options = {"batch_handler": crash, "batch_size": 20, "lock_duration": 1_000, "stalled_interval": 500}
    rows = drain(spark, queue.name, url=redis_url, workers=2, returns="n long", **options).collect()
    assert sorted(row.n for row in rows if row.state == "completed") == [n for n in range(40) if n != 7]
    failed = [(row.jobId, row.error) for row in rows if row.state == "failed"]
    assert failed == [("id-7", "job stalled more than allowable limit")]


def test_with_max_seconds_no_round_starts_later(
    spark: SparkSession, queue: Queue, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    queue.add("n")
    left = Worker(queue.name, url=redis_url, run="late", name="late.0")
    left.get_next_job(f"{left.id}:1")
    limits = {"until": None, "max_seconds": 1, "run": "late"}
    assert drain(spark, queue.name, lambda job: None, url=redis_url, **limits).count() == 0
    assert "jobs were still active when max_seconds was over: 1." in caplog.text
    assert queue.get_active_count() == 1


def test_tasks_can_keep_the_results_of_jobs_that_are_removed(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    enqueue(spark.range(50), queue.name, url=redis_url)
    options = {"results": "tasks", "remove_on_complete": True, "returns": "n long"}
    results = drain(spark, queue.name, lambda job: job.data["id"], url=redis_url, **options)
    for _ in range(2):
        assert sorted(row.n for row in results.collect()) == list(range(50))
    assert queue.get_completed_count() == 0


def test_a_drain_ends_after_max_jobs_and_leaves_the_rest(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    enqueue(spark.range(100), queue.name, url=redis_url)
    results = drain(spark, queue.name, lambda job: None, url=redis_url, workers=1, until=None, max_jobs=30)
    assert results.count() == 30
    counts = queue.get_job_counts("waiting", "active", "completed")
    assert (counts["waiting"], counts["active"], counts["completed"]) == (70, 0, 30)


def test_a_drain_ends_after_max_seconds_and_names_a_job_whose_handler_hangs(
    spark: SparkSession, queue: Queue, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    queue.add_bulk([{"name": "n", "data": n} for n in range(6)])
    options = {"workers": 1, "concurrency": 2, "max_seconds": 1, "lock_duration": 1_000, "run": "hung"}
    began = time.monotonic()
    results = drain(spark, queue.name, lambda job: job.data == 3 and time.sleep(600), url=redis_url, **options)
    assert time.monotonic() - began < 60
    assert sorted(row.jobId for row in results.collect()) == ["1", "2", "3", "5", "6"]
    assert f"drain of {queue.name}, run hung: jobs were still active when max_seconds was over: 4." in caplog.text


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
    queue.add("n")
    lock = threading.Lock()
    wrong: tuple[tuple[dict[str, object], str], ...] = (
        ({"until": None}, "needs an end"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurency": 2}, "concurrency"),
        ({"until": "done"}, "until"),
        ({"max_jobs": 0}, "max_jobs"),
        ({"max_seconds": "5"}, "max_seconds"),
        ({"horizon": "soon"}, "horizon"),
        ({"horizon": -1}, "horizon must not be negative"),
        ({"returns": "state string"}, "state"),
        ({"returns": "JOBID string"}, "jobs have 'jobId' themselves"),
        ({"returns": "a int, A int"}, "returns has a column twice"),
        ({"returns": ""}, "returns has no column"),
        ({"returns": "no schema at all"}, "returns is no Spark schema"),
        ({"returns": "n long not null"}, "column 'n' has a NOT NULL"),
        ({"returns": "data string", "data": True}, "data"),
        ({"workers": 0}, "workers"),
        ({"workers": 1.5}, "workers"),
        ({"results": "spark"}, "results must be 'redis' or 'tasks'"),
        ({"results": "tasks", "data": True}, "data=True needs"),
        ({"paused": "ignore"}, "paused must be"),
        ({"run": "a.b"}, "run must be"),
        ({"autorun": True}, "leave autorun out"),
        ({"name": "me"}, "names its workers itself"),
        ({"remove_on_complete": True}, "removes each job when it finishes"),
        ({"handler": None}, "drain needs a handler or a batch_handler"),
        ({"handler": lambda job: lock.acquire()}, r"it uses 'lock' \(_thread.lock\)"),
        ({"handler": lambda: None}, "handler must take a job"),
    )
    for options, message in wrong:
        with pytest.raises(InvalidOptionError, match=message):
            drain(spark, queue.name, **{"handler": lambda job: None, "url": redis_url, **options})
    with pytest.raises(QueueNameError):
        drain(spark, "a:b", lambda job: None, url=redis_url)
    with pytest.raises(InvalidOptionError, match="worker needs a handler"):
        worker(queue.name, url=redis_url)
    assert queue.get_waiting_count() == 1


def test_a_queue_or_a_server_that_cannot_work_is_an_error_at_once(
    spark: SparkSession, queue: Queue, redis_url: str, redis
) -> None:
    queue.pause()
    queue.add("n")
    with pytest.raises(QueuePausedError, match="is paused: resume it, or give paused='wait'"):
        drain(spark, queue.name, lambda job: None, url=redis_url)
    with pytest.raises(ConnectionLostError):
        drain(spark, queue.name, lambda job: None, url="redis://127.0.0.1:1/0")
    with pytest.raises(RedisServerError, match="WRONGPASS|AUTH"):
        drain(spark, queue.name, lambda job: None, url=redis_url.replace("redis://", "redis://:nope@"))
    threading.Timer(0.5, queue.resume).start()
    assert drain(spark, queue.name, lambda job: None, url=redis_url, paused="wait").count() == 1


def test_a_url_that_nobody_knows_is_an_error_and_tasks_that_fail_name_the_run(
    spark: SparkSession, queue: Queue, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidOptionError, match="NO_SUCH_URL is not set"):
        drain(spark, queue.name, lambda job: None, url="env:NO_SUCH_URL")
    monkeypatch.setenv("URL_OF_DRIVER", redis_url)  # Spark's processes have started without it
    with pytest.raises(
        DrainError, match=r"run seven on .* failed: InvalidOptionError: .*URL_OF_DRIVER is not"
    ) as found:
        drain(spark, queue.name, lambda job: None, url="env:URL_OF_DRIVER", run="seven")
    assert found.value.run == "seven"
    with pytest.raises(DrainError, match=r"the tasks on queue .* failed: InvalidOptionError: .*URL_OF_DRIVER"):
        drain(spark, queue.name, lambda job: None, url="env:URL_OF_DRIVER", results="tasks")


def test_the_progress_bar_counts_what_happens_in_redis(
    spark: SparkSession, queue: Queue, redis_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress(queue.name, url=redis_url, count="added", total=300) as added:
        enqueue(spark.range(300), queue.name, url=redis_url)
    assert added.n == 300
    with progress(queue.name, url=redis_url) as finished:
        drain(spark, queue.name, lambda job: None, url=redis_url, results="tasks", remove_on_complete=True)
    assert (finished.n, finished.total) == (300, 300)
    assert "0 waiting, 0 active, 0 completed, 0 failed" in capsys.readouterr().err
