import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery
from redis import Redis

from bullrush import Queue, Worker
from bullrush.spark.source.stream.reader import HAS_LIMITS

pytestmark = pytest.mark.spark

#: PySpark 4.0 and 4.1 end `availableNow` after one micro-batch of a limited source.
LIMIT = {"maxRowsPerTrigger": "50"} if HAS_LIMITS else {}

JOBS = 120
SCHEMA = "jobId string, state string, returnvalue struct<twice:long>, finishedOn timestamp"


class Reading:
    """A streaming query over the finished jobs of a queue; `seen` has the ids of each micro-batch."""

    def __init__(self, spark: SparkSession, queue: Queue, url: str, checkpoint: Path) -> None:
        self._spark, self._queue, self._url, self._checkpoint = spark, queue, url, str(checkpoint)
        self.seen: dict[int, list[str]] = {}

    def run(self, schema: str | None = SCHEMA, **options: str) -> StreamingQuery:
        """Read what is there now."""
        reader = self._spark.readStream.format("bullmq").option("url", self._url).options(**options)
        stream = (reader if schema is None else reader.schema(schema)).load(self._queue.name)
        writer = stream.writeStream.foreachBatch(self._note).option("checkpointLocation", self._checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    def _note(self, rows: DataFrame, batch: int) -> None:
        self.seen[batch] = [row.jobId for row in rows.select("jobId").collect()]

    def forget_last_commit(self) -> int:
        """Make the checkpoint that of a query that died after it had written its last micro-batch.

        Return its number.
        """
        commits = Path(self._checkpoint) / "commits"
        last = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
        (commits / str(last)).unlink()
        (commits / f".{last}.crc").unlink()
        return last

    @property
    def ids(self) -> list[str]:
        return sorted(job for batch in self.seen.values() for job in batch)


@pytest.fixture
def reading(spark: SparkSession, queue: Queue, redis_url: str, tmp_path: Path) -> Reading:
    return Reading(spark, queue, redis_url, tmp_path)


@pytest.fixture
def finished(queue: Queue, worker: Callable[..., Worker], redis: Redis) -> list[str]:
    """Finish jobs, and give each a finish time of its own."""
    ids = [job.id for job in queue.add_bulk([{"name": "n", "data": n} for n in range(JOBS)])]

    def twice(job):  # type: ignore[no-untyped-def]
        if job.data % 10 == 9:
            raise ValueError("nine")
        return {"twice": 2 * job.data}

    worker(twice, concurrency=20).run(until="drained")
    for state in ("completed", "failed"):
        members = redis.zrange(queue.to_key(state), 0, -1, withscores=True)
        redis.zadd(queue.to_key(state), {job: score - 2 * int(job) for job, score in members})
    return sorted(ids)


@pytest.mark.skipif(not HAS_LIMITS, reason="Spark passes limits from 4.2 on")
def test_available_now_heeds_the_limit_and_ends_with_all(reading: Reading, finished: list[str]) -> None:
    query = reading.run(maxRowsPerTrigger="50", lagMs="10")
    assert reading.ids == finished
    sizes = [len(batch) for batch in reading.seen.values()]
    assert len(sizes) == 3 and max(sizes) <= 50
    end = json.loads(query.lastProgress["sources"][0]["endOffset"])
    assert end["counts"] == {"completed": JOBS * 9 // 10, "failed": JOBS // 10}


def test_a_query_that_died_between_write_and_commit_reads_the_same_jobs_again_and_then_the_rest(
    reading: Reading, finished: list[str], queue: Queue, worker: Callable[..., Worker]
) -> None:
    reading.run(lagMs="0", **LIMIT)
    last = reading.forget_last_commit()
    before = reading.seen.pop(last)
    assert len(before) > 0
    more = [job.id for job in queue.add_bulk([{"name": "n", "data": n} for n in range(5)])]
    worker(lambda job: {"twice": 0}).run(until="drained")
    reading.run(lagMs="10", **LIMIT)
    if not HAS_LIMITS:  # there, a query with `availableNow` that repeats a micro-batch ends after it
        reading.run(lagMs="10")
    assert sorted(reading.seen[last]) == sorted(before), "the micro-batch was read again as it was"
    assert reading.ids == sorted(finished + more), "each job is in one micro-batch"


def test_a_job_that_appears_before_what_was_read_fails_the_query(
    reading: Reading, finished: list[str], queue: Queue, redis: Redis
) -> None:
    reading.run(lagMs="0", states="completed", schema="jobId string")
    redis.zadd(queue.to_key("completed"), {"late": 1_000_000})
    with pytest.raises(StreamingQueryException, match=r"(?m)^bullrush: 1 completed jobs have a finish time.*lagMs=0"):
        reading.run(lagMs="0", states="completed", schema="jobId string")
    reading.run(lagMs="0", states="completed", schema="jobId string", failOnDataLoss="false")


def test_a_stream_of_events_reads_each_entry_once(
    reading: Reading, finished: list[str], queue: Queue, redis: Redis
) -> None:
    reading.run(source="events", schema=None, **LIMIT)
    queue.add("n", 1, job_id="one-more")
    reading.run(source="events", schema=None)
    entries = redis.xrange(queue.to_key("events"))
    seen = [job for batch in reading.seen.values() for job in batch]
    assert seen == [fields.get("jobId") for _, fields in entries]
    assert set(reading.seen[max(reading.seen)]) == {"one-more"}


def test_a_query_keeps_its_source(reading: Reading, finished: list[str]) -> None:
    reading.run(source="events", schema=None)
    with pytest.raises(StreamingQueryException, match="(?m)^bullrush: the checkpoint has the offset.*keeps its source"):
        reading.run(lagMs="0")
