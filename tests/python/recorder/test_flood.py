"""More than can be written at once: reading goes on in memory, and what is too much is left out by whole jobs."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from redis import Redis

from bullrush import Queue
from bullrush.recorder import History, Recorder
from tests.python.recorder.recording import Recording
from tests.waiting import wait_until

#: What a stream of this test keeps, and what is written to it at once.
KEPT, PAGE = 4_000, 500
#: Reads after which a page has surely reached the recorder: one may be under way already, one asks whether something
#: has come, two read it, and another one is sent when they have been taken.
READS = 6


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Let nobody write the file while the block runs."""
    with sqlite3.connect(file, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("COMMIT")
    other.close()


def reads(redis: Redis) -> int:
    return int(redis.info("commandstats").get("cmdstat_xread", {"calls": 0})["calls"])  # type: ignore[union-attr]


def write(redis: Redis, key: str, ids: range, *, transaction: bool = False) -> None:
    """Write the events of jobs, as BullMQ does."""
    pipeline = redis.pipeline(transaction)
    for n in ids:
        for event in (
            {"event": "added", "jobId": n, "name": "n"},
            {"event": "waiting", "jobId": n},
            {"event": "active", "jobId": n, "prev": "waiting"},
            {"event": "completed", "jobId": n, "returnvalue": "null", "prev": "active"},
        ):
            pipeline.xadd(key, event, maxlen=KEPT, approximate=False)  # type: ignore[arg-type]
    pipeline.execute()


def write_as_it_is_read(redis: Redis, key: str, jobs: int) -> None:
    """Write the events of jobs no faster than a recorder reads them."""
    for begin in range(0, jobs, PAGE):
        write(redis, key, range(begin, begin + PAGE))
        before = reads(redis)
        wait_until(lambda before=before: reads(redis) >= before + READS)


def test_reading_does_not_wait_for_the_file(queue: Queue, redis: Redis, file: Path, recording: Recording) -> None:
    """The stream is cut off six times over while the file cannot be written."""
    jobs = KEPT * 6 // 4
    with recording() as history:
        first = queue.add("first")
        wait_until(lambda: history.attempts(queue.name, first.id))
        with locked(file):
            write_as_it_is_read(redis, queue.to_key("events"), jobs)
            assert history.find(queue.name, outcome="completed") == []
        wait_until(lambda: len(history.find(queue.name, outcome="completed", limit=2 * jobs)) == jobs)
        known = history.remembered(queue.name)
    assert known is not None and known.gaps == [] and known.share == 1


def test_what_was_read_is_written_before_a_recorder_ends(
    queue: Queue, redis: Redis, redis_url: str, file: Path
) -> None:
    jobs = KEPT * 2 // 4
    with Recorder(file, redis_url, queues=[queue.name]) as recorder, History(file) as history:
        running = threading.Thread(target=recorder.run)
        running.start()
        first = queue.add("first")
        wait_until(lambda: history.attempts(queue.name, first.id))
        with locked(file):
            write_as_it_is_read(redis, queue.to_key("events"), jobs)
            recorder.stop()
        running.join()
        redis.delete(queue.to_key("events"))
        assert len(history.find(queue.name, outcome="completed", limit=2 * jobs)) == jobs
        told = recorder.progress()
        assert told.bytes == file.stat().st_size + file.with_name(f"{file.name}-wal").stat().st_size
    assert told.events == told.kept == jobs * 4 + 2 and told.gaps == 0


def test_more_than_can_be_written_is_sampled_by_whole_jobs_and_the_history_says_so(
    queue: Queue, redis: Redis, recording: Recording
) -> None:
    jobs, per_second = 10_000, 100
    with recording(events_per_second=per_second) as history:
        write_as_it_is_read(redis, queue.to_key("events"), jobs)

        def counted() -> int:
            known = history.remembered(queue.name)
            begin = known.since if known else 0
            return sum(minute.completed for minute in history.minutes(queue.name, begin, int(time.time() * 1_000)))

        wait_until(lambda: counted() == jobs)
        known = history.remembered(queue.name)
        kept = history.find(queue.name, outcome="completed", limit=jobs)
        heard = history.find(queue.name, limit=jobs)
        whole = [one for job in kept for one in history.attempts(queue.name, job.job_id)]
    assert known is not None and known.share > 1 and known.gaps == []
    # Until a burst is used up all are kept, then few.
    assert per_second < len(kept) < jobs / 4
    # Only jobs that ran while the sample changed are known in part.
    assert len(heard) - len(kept) < jobs / 50
    assert len([one for one in whole if one.queued and one.ready and one.claimed]) > 0.9 * len(kept)


def test_a_quiet_queue_is_kept_whole_beside_a_flood(
    queue: Queue, redis: Redis, redis_url: str, recording: Recording
) -> None:
    quiet = f"{queue.name}~quiet"
    with recording(queues=[queue.name, quiet], events_per_second=100) as history:
        write_as_it_is_read(redis, queue.to_key("events"), 4 * PAGE)
        with Queue(quiet, url=redis_url) as other:
            ids = [other.add("n").id for _ in range(5)]
            wait_until(lambda: len(history.find(quiet)) == len(ids))
            flooded, calm = history.remembered(queue.name), history.remembered(quiet)
    assert flooded is not None and flooded.share > 1
    assert calm is not None and calm.share == 1


def test_what_no_reader_could_have_seen_is_a_gap(queue: Queue, redis: Redis, recording: Recording) -> None:
    """One transaction writes twice as much as the stream keeps."""
    jobs = 2 * KEPT // 4
    with recording() as history:
        first = queue.add("first")
        wait_until(lambda: history.attempts(queue.name, first.id))
        write(redis, queue.to_key("events"), range(jobs), transaction=True)
        wait_until(lambda: history.find(queue.name, job_id=str(jobs - 1), outcome="completed"))
        known = history.remembered(queue.name)
        found = history.find(queue.name, outcome="completed", limit=jobs)
        bars = history.waterfall(queue.name, first.id)
        [oldest] = redis.xrange(queue.to_key("events"), count=1)  # type: ignore[misc]
    assert known is not None and known.share == 1
    assert [until for _, until in known.gaps] == [int(oldest[0].split("-")[0])]
    assert {job.job_id for job in found} == {str(n) for n in range(jobs // 2, jobs)}
    # Nobody knows whether the first one still waits.
    assert bars[-1].doing == "gap"


def test_a_stream_that_keeps_little_is_followed_without_a_gap(queue: Queue, redis: Redis, recording: Recording) -> None:
    """It keeps 200 entries, of which 100 come at a time."""
    key, jobs = queue.to_key("events"), 1_000
    with recording() as history:
        first = queue.add("first")
        wait_until(lambda: history.attempts(queue.name, first.id))
        for begin in range(0, jobs, 25):
            pipeline = redis.pipeline(transaction=False)
            for n in range(begin, begin + 25):
                for event in ("added", "waiting", "active", "completed"):
                    told: Any = {"event": event, "jobId": n, "name": "n"}
                    pipeline.xadd(key, told, maxlen=200, approximate=False)
            pipeline.execute()
            before = reads(redis)
            wait_until(lambda before=before: reads(redis) >= before + READS)
        wait_until(lambda: len(history.find(queue.name, outcome="completed", limit=2 * jobs)) == jobs)
        known = history.remembered(queue.name)
    assert known is not None and known.gaps == []


def test_what_streams_kept_before_the_first_start_is_read_as_it_can_be_written(
    queue: Queue, redis: Redis, recording: Recording
) -> None:
    """Nothing of it is cut off meanwhile, so nothing has to be left out."""
    jobs, per_second = 10_000, 3_000
    begin = int(time.time() * 1_000) - 60_000
    for first in range(0, jobs, 1_000):
        pipeline = redis.pipeline(transaction=False)
        for n in range(first, first + 1_000):
            for place, event in enumerate(("added", "waiting", "active", "completed"), 1):
                told: Any = {"event": event, "jobId": n, "name": "n"}
                pipeline.xadd(queue.to_key("events"), told, id=f"{begin + n}-{place}")
        pipeline.execute()
    with recording(events_per_second=per_second) as history:
        wait_until(lambda: len(history.find(queue.name, outcome="completed", limit=jobs)) == jobs, pause=0.1)
        known = history.remembered(queue.name)
    assert known is not None and known.gaps == [] and known.share == 1
    assert known.since == begin
