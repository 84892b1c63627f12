"""The partition function without Spark: it takes an iterator and returns one."""

import os
import pickle
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
from redis import Redis

from bullrush import Queue
from bullrush._core import QUEUE_KEYS
from bullrush.arrow import ArrowWriter
from bullrush.errors import ConnectionLostError, InvalidOptionError
from bullrush.spark import JobResult, worker
from bullrush.spark.address import Address
from bullrush.spark.draining.outbox import Outbox
from bullrush.spark.results import JOB_COLUMNS, to_batch
from tests.waiting import wait_until

#: The first parts of the names of all keys of a queue.
RESERVED = sorted({key.name.partition(":")[0] for key in QUEUE_KEYS if key.owner != "bull"})


def add(queue: Queue, count: int) -> None:
    with ArrowWriter(queue, name="n") as writer:
        writer.write(pa.table({"n": list(range(count))}))
    assert writer.added == count


def test_rows_return_job_results(queue: Queue, redis_url: str) -> None:
    add(queue, 20)
    results = list(worker(queue.name, lambda job: {"n": job.data["n"]}, url=redis_url)(iter(["any row"])))
    assert {type(result) for result in results} == {JobResult}
    assert sorted(result.result["n"] for result in results) == list(range(20))


def test_batches_return_batches(queue: Queue, redis_url: str) -> None:
    add(queue, 20)
    seed = pa.RecordBatch.from_pydict({"id": [1]})
    batches = list(worker(queue.name, lambda job: job.data["n"], url=redis_url)(iter([seed])))
    table = pa.Table.from_batches(batches)
    assert table.column_names == list(JOB_COLUMNS)
    assert sorted(map(int, table["result"].to_pylist())) == list(range(20))


def test_an_empty_partition_gets_no_worker(queue: Queue, redis_url: str) -> None:
    add(queue, 1)
    assert list(worker(queue.name, lambda job: None, url=redis_url)(iter([]))) == []
    assert queue.get_job_counts("waiting")["waiting"] == 1


def test_the_function_pickles_as_its_configuration(queue: Queue, redis_url: str) -> None:
    add(queue, 3)
    work = pickle.loads(pickle.dumps(worker(queue.name, len_of_name, url=redis_url)))
    assert {result.result for result in work(iter([0]))} == {1}
    assert redis_url not in repr(Address.on_driver("q", redis_url, None))


def test_a_worker_leaves_the_settings_of_its_queue_as_they_are(queue_name: str, redis: Redis, redis_url: str) -> None:
    """Spark makes many workers; none of them may shorten the event stream of a queue that somebody has set up."""
    with Queue(queue_name, url=redis_url, streams={"events": {"max_len": 77_000}}) as queue:
        add(queue, 3)
    assert len(list(worker(queue_name, len_of_name, url=redis_url)(iter([0])))) == 3
    assert redis.hget(f"bull:{queue_name}:meta", "opts.maxLenEvents") == "77000"


def len_of_name(job):
    return len(job.name)


def test_closing_the_generator_ends_the_worker_and_returns_its_jobs(queue: Queue, redis_url: str) -> None:
    add(queue, 100)
    results = worker(queue.name, lambda job: None, url=redis_url, until=None, max_seconds=60)(iter([0]))
    next(results)
    results.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("bullrush-run")]
    counts = queue.get_job_counts("waiting", "active", "completed")
    assert counts["active"] == 0
    assert counts["waiting"] + counts["completed"] == 100


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="counts threads and descriptors in /proc")
def test_a_task_leaves_no_thread_and_no_connection_of_its_own(queue: Queue, redis_url: str) -> None:
    def run() -> None:
        add(queue, 5)
        list(worker(queue.name, lambda job: None, url=redis_url)(iter([0])))

    def held() -> list[int]:
        return [len(os.listdir(f"/proc/self/{kind}")) for kind in ("task", "fd")]

    run()  # makes the connections that all later tasks of this process share
    threads, descriptors = held()
    for _ in range(3):
        run()
    wait_until(lambda: held()[0] <= threads and held()[1] <= descriptors, "the last thread has ended")


def test_the_time_of_each_job_is_measured(queue: Queue, redis_url: str) -> None:
    add(queue, 3)
    results = list(worker(queue.name, lambda job: time.sleep(0.02), url=redis_url, concurrency=3)(iter([0])))
    assert [20 <= result.ms < 2_000 for result in results] == [True] * 3


def test_the_worker_of_a_partition_ends_although_a_handler_hangs(queue: Queue, redis_url: str) -> None:
    gate = threading.Event()
    add(queue, 3)
    options = {"concurrency": 3, "lock_duration": 300, "timeout": 100, "max_seconds": 0.3}
    work = worker(queue.name, lambda job: None, url=redis_url, **options)
    work._handler = lambda job: job.data["n"] == 1 and gate.wait(60)  # an event cannot be pickled
    try:
        results = {result.jobId: result.error for result in work(iter([0]))}
        assert not gate.is_set()
        assert results == {"1": None, "2": "timed out after 100 ms", "3": None}
    finally:
        gate.set()


def test_a_server_that_is_not_there_fails_the_task(tmp_path) -> None:
    work = worker("queue", lambda job: None, url=f"unix://{tmp_path}/no.sock")
    with pytest.raises(ConnectionLostError):
        list(work(iter([0])))


def test_a_broken_address_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_URL", raising=False)
    with pytest.raises(InvalidOptionError, match="NO_SUCH_URL is not set"):
        Address.on_driver("q", "env:NO_SUCH_URL", None).open()
    with pytest.raises(InvalidOptionError, match="/no/such/file"):
        Address.on_driver("q", "file:///no/such/file", None).open()


def test_a_batch_is_counted_and_equal_rows_are_kept(queue: Queue) -> None:
    table = pa.table({"x": [1, 1, 2]})
    for expected in ((3, 0), (0, 3)):
        with ArrowWriter(queue, id_scope="day.0") as writer:
            writer.write(table.slice(0, 1))
            writer.write(table.slice(1))
        assert (writer.added, writer.duplicates) == expected


@pytest.mark.parametrize("job_id", [*RESERVED, "a:b", "0:1:2", "metrics:x:y", "", None])
def test_an_id_that_add_refuses_is_refused_in_a_column_too(queue: Queue, job_id: str | None) -> None:
    table = pa.table({"key": pa.array(["fine", job_id], pa.string())})
    with pytest.raises(InvalidOptionError, match="in row 1"), ArrowWriter(queue, job_id="key") as writer:
        writer.write(table)
    assert queue.get_job_counts("waiting")["waiting"] == 0


def test_the_outbox_slows_the_writer_when_nobody_reads() -> None:
    calls: list[str] = []
    outbox = Outbox[int](full=lambda: calls.append("full"), empty=lambda: calls.append("empty"))
    for number in range(60_000):
        outbox.put(number)
    assert calls == ["full"]
    reader = iter(outbox)
    assert len(next(reader)) == 60_000
    assert calls == ["full", "empty"]


def test_the_outbox_raises_what_stopped_the_writer() -> None:
    outbox = Outbox[int](full=lambda: None, empty=lambda: None)

    def run() -> None:
        outbox.put(1)
        raise ConnectionError("gone")

    outbox.feed(run)
    reader = iter(outbox)
    assert next(reader) == [1]
    with pytest.raises(ConnectionError, match="gone"):
        next(reader)


def test_results_of_every_kind_fit_the_schema() -> None:
    results = [
        JobResult("1", "a", "completed", {"deep": [1, None]}, None, 1, 0.5),
        JobResult("2", "a", "completed", None, None, 1, 0.5),
        JobResult("3", "a", "failed", None, "why", 2, 0.0),
    ]
    assert to_batch(results)["result"].to_pylist() == ['{"deep":[1,null]}', "null", None]
    assert to_batch([]).schema == to_batch(results).schema
