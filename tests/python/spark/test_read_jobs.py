"""Jobs of a queue as DataFrames."""

from datetime import datetime, timezone

import pytest
from pyspark.sql import SparkSession
from redis import Redis

from bullrush import Queue
from bullrush.errors import InvalidOptionError
from bullrush.spark import read_jobs
from bullrush.spark.reading.columns import COLUMNS

pytestmark = pytest.mark.spark


def test_finished_jobs_are_a_frame_with_all_columns(spark: SparkSession, queue: Queue, redis_url: str, worker) -> None:
    def handle(job):
        if job.data["n"] % 10 == 0:
            raise ValueError("no tens")
        return {"half": job.data["n"] / 2}

    queue.add_bulk([{"name": "n", "data": {"n": n}, "opts": {"job_id": f"j{n}"}} for n in range(300)])
    worker(handle, name="w1").run(until="drained")
    frame = read_jobs(spark, queue.name, url=redis_url)
    assert frame.dtypes == [(name, {"long": "bigint"}.get(kind, kind)) for name, kind in COLUMNS.items()]
    rows = {row.jobId: row for row in frame.collect()}
    assert len(rows) == 300
    job, good, bad = queue.get_job("j7"), rows["j7"], rows["j10"]
    assert (good.state, good.returnvalue, good.data, good.processedBy) == ("completed", '{"half":3.5}', '{"n":7}', "w1")
    assert good.finishedOn == datetime.fromtimestamp(job.finished_on / 1000, timezone.utc).replace(tzinfo=None)
    assert (bad.state, bad.failedReason, bad.returnvalue, bad.attemptsMade) == ("failed", "no tens", None, 1)
    queue.add("n", {"n": 1})
    worker(handle).run(until="drained")
    assert frame.count() == 300, "the frame has the jobs that were finished when it was made"
    queue.remove("j7")
    assert frame.count() == 299


def test_json_is_read_into_types_and_jobs_are_selected(
    spark: SparkSession, queue: Queue, redis_url: str, redis: Redis
) -> None:
    key = f"bull:{queue.name}"
    for n in range(40):
        worker = ("run1.0", "run1.1", "run10.0", "w")[n % 4]
        fields = {
            "name": "n", "timestamp": 1, "finishedOn": 1000 + n, "pb": worker, "returnvalue": n,
            "data": f'{{"who":{{"id":{n}.0}},"tags":{{"a":[{n}]}},"due":"2024-05-01T12:30:00Z"}}',
        }  # fmt: skip
        redis.hset(f"{key}:j{n}", mapping=fields)
        redis.zadd(f"{key}:completed", {f"j{n}": 1000 + n})
    redis.hset(f"{key}:j39", "data", "[]")
    schema = (
        "returnvalue long, data struct<who: struct<id: int>, tags: map<string, array<int>>, due: timestamp>,"
        " finishedOn long, _corrupt string"
    )

    def ids(**options) -> list[int]:
        frame = read_jobs(spark, queue.name, url=redis_url, schema=schema, partitions=3, **options)
        return sorted(row.returnvalue for row in frame.collect())

    frame = read_jobs(spark, queue.name, url=redis_url, schema=schema, partitions=3).orderBy("finishedOn")
    assert frame.columns == ["returnvalue", "data", "finishedOn", "_corrupt"]
    first, *_, last = frame.collect()
    assert (first.returnvalue, first.finishedOn, first._corrupt) == (0, 1000, None)
    assert (first.data.who.id, first.data.tags, first.data.due) == (0, {"a": [0]}, datetime(2024, 5, 1, 12, 30))
    assert (last.data, last._corrupt) == (None, "[]")
    assert ids(finished_after=1035) == [36, 37, 38, 39]
    assert ids(finished_after=datetime.fromtimestamp(1.035)) == [36, 37, 38, 39]
    assert ids(processed_by="run1") == [n for n in range(40) if n % 4 < 2]
    assert ids(processed_by="run1.1", finished_after=1030) == [33, 37]
    assert ids(states=["failed"]) == []


def test_jobs_of_any_state_can_be_read(spark: SparkSession, queue: Queue, redis_url: str) -> None:
    queue.add_bulk([{"name": "n", "data": n} for n in range(20)])
    queue.add("later", 1, delay=3_600_000)
    queue.add("first", 1, priority=5)
    frame = read_jobs(
        spark,
        queue.name,
        url=redis_url,
        states=["waiting", "delayed", "prioritized", "active"],
        schema="state string, priority int, delay long",
    )
    found = sorted(tuple(row) for row in frame.collect())
    assert found == [("delayed", 0, 3_600_000), ("prioritized", 5, 0), *[("waiting", 0, 0)] * 20]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"states": ["done"]}, "no state 'done'"),
        ({"states": "failed"}, r"\['failed'\]"),
        ({"schema": "jobid string"}, "no column 'jobid'. Did you mean 'jobId'"),
        ({"schema": "jobId strin"}, "no Spark schema"),
        ({"schema": ["jobId"]}, "is a Spark schema like"),
        ({"schema": "name int"}, "is a string"),
        ({"schema": "data map<int, string>"}, "keys of its objects are strings"),
        ({"schema": "data struct<a: interval day to second>"}, "schema.data.a cannot be read from JSON"),
        ({"schema": "name string, name string"}, "twice"),
        ({"schema": "timestamp int"}, "64 bits, not Int32"),
        ({"schema": "priority tinyint"}, "32 or 64 bits, not Int8"),
        ({"schema": "name string not null"}, "column 'name' has a NOT NULL"),
        ({"schema": "data array<struct<a: int not null>>"}, "column 'data' has a NOT NULL"),
        ({"finished_after": "today"}, "datetime or ms"),
        ({"finished_after": 5, "states": ["active"]}, "active"),
        ({"partitions": 0}, "partitions"),
        ({"processed_by": ""}, "processed_by"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_on_the_driver(
    spark: SparkSession, queue: Queue, redis_url: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        read_jobs(spark, queue.name, **{"url": redis_url, **options})
