"""The stream of events, on a real Redis and without Spark."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from pyspark.sql.types import MapType, StringType, StructType, TimestampType
from redis import Redis

from bullrush import Queue, Worker
from bullrush.errors import InvalidOptionError
from bullrush.spark.address import Address
from bullrush.spark.source.messages import DataSourceError
from bullrush.spark.source.options import StreamOptions
from bullrush.spark.source.stream.events import EventSource, Offset

SCHEMA = (
    StructType()
    .add("event", StringType())
    .add("jobId", StringType())
    .add("returnvalue", StringType())
    .add("timestamp", TimestampType())
    .add("fields", MapType(StringType(), StringType()))
    .add("id", StringType())
)


@pytest.fixture
def options(queue: Queue, redis_url: str) -> StreamOptions:
    return StreamOptions(Address(queue.name, redis_url, "bull"), source="events")


def rows(source: EventSource, start: Offset, end: Offset) -> list[dict[str, object]]:
    return [row for part in source.partitions(start, end) for batch in source.read(part) for row in batch.to_pylist()]


def test_every_entry_is_read_once(options: StreamOptions, queue: Queue, worker: Callable[..., Worker]) -> None:
    source = EventSource(options, SCHEMA)
    ids = [queue.add("n", n, job_id=f"job-{n}").id for n in range(10)]
    worker(lambda job: {"twice": 2 * job.data}).run(until="drained")
    start, target = source.initial(), source.target()
    found = []
    while (end := source.latest(start, 7, target)) != start:
        part = rows(source, start, end)
        assert len(part) <= 7
        found += part
        start = end
    assert start == target
    assert found == rows(source, source.initial(), target), "a replay reads the same"
    assert [row["jobId"] for row in found if row["event"] == "added"] == ids
    done = {row["jobId"]: row for row in found if row["event"] == "completed"}
    assert done["job-3"]["returnvalue"] == '{"twice":6}'
    assert dict(done["job-3"]["fields"])["prev"] == "active"  # type: ignore[call-overload]
    assert all(
        row["id"].startswith(f"{row['timestamp'].timestamp() * 1000:.0f}-")  # type: ignore[attr-defined]
        for row in found
    )


def test_a_checkpoint_of_another_queue_is_refused(options: StreamOptions) -> None:
    start = EventSource(options, SCHEMA).initial()
    other = EventSource(replace(options, address=replace(options.address, name="another")), SCHEMA)
    with pytest.raises(DataSourceError, match="and the query reads 'bull:another'"):
        other.latest(start, None, None)


def test_a_query_begins_where_its_options_say(options: StreamOptions, queue: Queue) -> None:
    assert EventSource(replace(options, starting_offsets="latest"), SCHEMA).initial()["id"] == "0-0"
    queue.add("n", 1)
    latest = EventSource(replace(options, starting_offsets="latest"), SCHEMA)
    assert latest.latest(latest.initial(), None, None) == latest.initial() == latest.target()
    given = replace(options, starting_offsets='{"id": "17-3"}')
    assert EventSource(given, SCHEMA).initial()["id"] == "17-3"
    for wrong in ("soon", '{"id": 5}', '{"completed": 1}'):
        with pytest.raises(InvalidOptionError, match="startingOffsets must be earliest, latest or such as"):
            EventSource(replace(options, starting_offsets=wrong), SCHEMA).initial()


def test_entries_that_were_trimmed_before_they_were_read_are_an_error(
    options: StreamOptions, queue: Queue, redis: Redis
) -> None:
    source = EventSource(options, SCHEMA)
    queue.add("n", 1)
    seen = source.target()
    redis.xtrim(queue.to_key("events"), maxlen=0, approximate=False)
    assert source.latest(seen, None, None) == seen, "all that is gone was read"
    queue.add("n", 2)
    unread = source.target()
    redis.xtrim(queue.to_key("events"), maxlen=0, approximate=False)
    with pytest.raises(DataSourceError, match="the event stream has been trimmed.*opts.maxLenEvents"):
        source.latest(seen, None, None)
    with pytest.raises(DataSourceError, match="the event stream has been trimmed"):
        rows(source, seen, unread)
    tolerant = EventSource(replace(options, fail_on_data_loss=False), SCHEMA)
    assert rows(tolerant, seen, tolerant.latest(seen, None, None)) == []


def test_an_unknown_column_and_the_offset_of_another_source_are_refused(options: StreamOptions) -> None:
    with pytest.raises(InvalidOptionError, match="events have no column 'job'. There are: id, timestamp, event"):
        EventSource(options, StructType().add("job", StringType()))
    with pytest.raises(DataSourceError, match="a query keeps its source"):
        EventSource(options, SCHEMA).latest({"completed": 5}, None, None)
