"""Texts that UTF-8 cannot encode, and durations that are too long: clear errors before anything is written."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Job, Queue, QueueEvents, Worker, aio
from bullrush.errors import BullrushError, InvalidOptionError, MalformedJobError
from bullrush.values.encoding import decode

BAD = "a\ud800b"

CALLS: dict[str, Callable[[Queue], object]] = {
    "name": lambda queue: queue.add(BAD),
    "job_id": lambda queue: queue.add("n", job_id=BAD),
    "data": lambda queue: queue.add("n", {"a": [BAD]}),
    "key of data": lambda queue: queue.add("n", {BAD: 1}),
    "deduplication": lambda queue: queue.add("n", deduplication={"id": BAD}),
    "one of many": lambda queue: queue.add_bulk([{"name": "n"}, {"name": BAD}]),
    "one id of many": lambda queue: queue.add_bulk([{"name": "n"}, {"name": "n", "opts": {"job_id": BAD}}]),
    "scheduler": lambda queue: queue.upsert_job_scheduler(BAD, {"every": 1000}),
    "name of a scheduler's jobs": lambda queue: queue.upsert_job_scheduler("s", {"every": 1000}, {"name": BAD}),
    "get_job": lambda queue: queue.get_job(BAD),
    "remove": lambda queue: queue.remove(BAD),
    "log": lambda queue: queue.add_job_log("1", BAD),
    "get_logs": lambda queue: queue.get_job_logs(BAD),
    "cancel": lambda queue: queue.cancel_job(BAD),
    "queue": lambda queue: Queue(BAD, url=queue._url),
    "prefix": lambda queue: Queue("q", url=queue._url, prefix=BAD),
    "worker": lambda queue: Worker(queue.name, url=queue._url, name=BAD),
    "token": lambda queue: Worker(queue.name, url=queue._url).get_next_job(BAD, block=False),
    "id of a job to cancel": lambda queue: Worker(queue.name, url=queue._url).cancel_job(BAD),
    "last_event_id": lambda queue: QueueEvents(queue.name, url=queue._url, last_event_id=BAD),
    "flow": lambda queue: FlowProducer(url=queue._url).add({"name": BAD, "queue_name": queue.name}),
    "child of a flow": lambda queue: FlowProducer(url=queue._url).add(
        {"name": "n", "queue_name": queue.name, "children": [{"name": BAD, "queue_name": queue.name}]}
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_lone_surrogate_is_refused_before_anything_is_written(queue: Queue, redis: Redis, call: str) -> None:
    with pytest.raises(BullrushError, match="surrogate"):
        CALLS[call](queue)
    assert not set(redis.scan_iter(f"bull:{queue.name}:*")) - {f"bull:{queue.name}:meta"}


def test_a_lone_surrogate_is_refused_with_asyncio(redis_url: str, queue_name: str) -> None:
    async def main() -> None:
        async with aio.Queue(queue_name, url=redis_url) as queue:
            with pytest.raises(InvalidOptionError, match="surrogate"):
                await queue.add(BAD)
            with pytest.raises(InvalidOptionError, match="surrogate"):
                await queue.get_job(BAD)

    asyncio.run(main())


def test_a_result_with_a_lone_surrogate_fails_its_attempt(queue: Queue, worker: Callable[..., Worker]) -> None:
    job = queue.add("n")
    worker(lambda job: BAD).run(until="drained")
    failed = queue.get_job(job.id)
    assert failed is not None and "lone surrogate" in str(failed.failed_reason)


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        (r'{"a":"\ud800"}', {"a": "\ud800"}),
        (r'["\udc00\ud800","\ud83d\ude00"]', ["\udc00\ud800", "\U0001f600"]),
        (r'{"\udfff":[1.5,true,null]}', {"\udfff": [1.5, True, None]}),
    ],
)
def test_data_with_lone_surrogates_is_read_as_node_reads_it(
    queue: Queue, worker: Callable[..., Worker], redis: Redis, stored: str, read: Any
) -> None:
    seen = []
    job = queue.add("n")
    redis.hset(f"bull:{queue.name}:{job.id}", "data", stored)
    assert worker(lambda job: seen.append(job.data)).run(until="drained").completed == 1
    assert seen == [read]


def test_bytes_that_are_no_utf8_are_replaced_as_node_does(
    queue: Queue, worker: Callable[..., Worker], redis: Redis
) -> None:
    """Node's MessagePack writes a lone surrogate in options as the three bytes that no UTF-8 has."""
    seen = []
    job = queue.add("n")
    stored = {"data": b'"a\xed\xa0\x80"', "opts": b'{"attempts":2,"custom":"\xed\xa0\x80"}'}
    redis.hset(f"bull:{queue.name}:{job.id}", mapping=stored)

    def handler(job: Job) -> None:
        seen.append((job.data, job.opts))
        if len(seen) == 1:
            raise ValueError("once")

    stats = worker(handler).run(until="drained")
    assert (stats.completed, stats.retried) == (1, 1), "its attempts are read, too"
    assert seen == 2 * [("a\ufffd\ufffd\ufffd", {"attempts": 2, "custom": "\ufffd\ufffd\ufffd"})]


@pytest.mark.parametrize("stored", [r'["\ud800",NaN]', r'"\ud800', r'{"a":"\ud800"}}', r'"\ud8"'])
def test_data_that_is_not_json_is_malformed(stored: str) -> None:
    with pytest.raises(MalformedJobError):
        decode(stored, "data", "1")


@pytest.mark.parametrize("seconds", [1e19, 1e30, float("inf"), float("nan")])
def test_a_max_seconds_that_no_clock_can_count_to_is_refused(worker: Callable[..., Worker], seconds: float) -> None:
    with pytest.raises(InvalidOptionError, match="max_seconds"):
        worker(lambda job: None).run(max_seconds=seconds)


@pytest.mark.parametrize(
    "option", ["drain_delay", "lock_duration", "lock_renew_time", "stalled_interval", "timeout", "run_retry_delay"]
)
def test_the_longest_durations_work(queue: Queue, worker: Callable[..., Worker], option: str) -> None:
    queue.add("n")
    longest = 2**53 - 1
    try:
        stats = worker(lambda job: None, **{option: longest}).run(until="empty", max_seconds=9e12)
    except InvalidOptionError:
        return
    assert stats.completed == 1


def test_a_job_with_lone_surrogates_becomes_json_as_in_node(queue: Queue, redis: Redis) -> None:
    job = queue.add("n")
    redis.hset(f"bull:{queue.name}:{job.id}", "data", r'{"a":"\ud800"}')
    read = queue.get_job(job.id)
    assert read is not None and read.as_json()["data"] == r'{"a": "\ud800"}'


@pytest.mark.parametrize("url", ["redis://\ud800", 5, b"redis://x"])
@pytest.mark.parametrize("kind", [Queue, Worker, QueueEvents])
def test_a_url_that_is_no_text_is_refused(url: Any, kind: Any) -> None:
    with pytest.raises(InvalidOptionError, match=r"^url (must be|has)"):
        kind("q", url=url)


def test_a_number_too_large_for_a_time_reads_as_absent(queue: Queue, redis: Redis) -> None:
    job = queue.add("n")
    redis.hset(f"bull:{queue.name}:{job.id}", mapping={"atm": "1e400", "timestamp": "nan"})
    read = queue.get_job(job.id)
    assert read is not None and read.attempts_made == 0 and read.timestamp is None
