"""Where a stream of finished jobs stops, on a real Redis and without Spark: finish times are written by hand."""

import itertools
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from redis import Redis

from bullrush import Queue
from bullrush.errors import InvalidOptionError
from bullrush.spark.address import Address
from bullrush.spark.source.messages import DataSourceError
from bullrush.spark.source.options import StreamOptions
from bullrush.spark.source.stream.finished_jobs import FinishedJobs, window_of
from bullrush.spark.source.stream.offsets import Offset, Offsets

Finish = Callable[..., None]


@pytest.fixture
def finish(redis: Redis, queue: Queue) -> Finish:
    """Return what writes jobs with these finish times in ms, as workers do."""
    made = iter(range(1_000_000))

    def write(*times: int, state: str = "completed") -> None:
        redis.zadd(queue.to_key(state), {f"job-{next(made)}": time for time in times})

    return write


@pytest.fixture
def jobs(queue: Queue) -> FinishedJobs:
    return FinishedJobs(queue)


@pytest.fixture
def options(queue: Queue, redis_url: str) -> StreamOptions:
    return StreamOptions(Address(queue.name, redis_url, "bull"), lag_ms=0)


def ends(offsets: Offsets, until: int, limit: int | None) -> list[Offset]:
    """Return the ends of all micro-batches up to a moment."""
    found = [offsets.initial()]
    while (end := offsets.next(found[-1], until, limit)) != found[-1]:
        found.append(end)
    return found


def test_a_micro_batch_ends_where_the_limit_is_reached_and_all_together_have_all(
    options: StreamOptions, jobs: FinishedJobs, finish: Finish
) -> None:
    chance = random.Random(7)
    finish(*(chance.randrange(1, 10**12) for _ in range(300)))
    finish(*(10**11 + chance.randrange(2_000) for _ in range(500)), state="failed")
    offsets = Offsets(options, jobs)
    found = ends(offsets, 10**12, 100)
    rows = [sum(end["rows"].values()) for end in found[1:]]
    assert sum(rows) == 800
    assert max(rows) <= 100
    assert len(rows) == 8, "no micro-batch is much smaller than the limit allows"
    assert found[-1]["counts"] == {"completed": 300, "failed": 500}


def test_the_jobs_of_one_millisecond_stay_together_even_beyond_the_limit(
    options: StreamOptions, jobs: FinishedJobs, finish: Finish
) -> None:
    finish(1000, *[2000] * 30, 3000, 3001)
    rows = [end["rows"]["completed"] for end in ends(Offsets(options, jobs), 10_000, 3)[1:]]
    assert rows == [1, 30, 2]


def test_a_micro_batch_has_at_least_the_first_millisecond(
    options: StreamOptions, jobs: FinishedJobs, finish: Finish
) -> None:
    finish(*[5000] * 10, *[5001] * 10)
    rows = [end["rows"]["completed"] for end in ends(Offsets(options, jobs), 10**12, 1)[1:]]
    assert rows == [10, 10]


def test_without_a_limit_there_is_one_micro_batch_and_then_none(
    options: StreamOptions, jobs: FinishedJobs, finish: Finish
) -> None:
    offsets = Offsets(options, jobs)
    assert offsets.next(offsets.initial(), 10**12, None) == offsets.initial()
    finish(1000, 2000, 3000)
    (_, end) = ends(offsets, 2500, None)
    assert (end["completed"], end["rows"]) == (2500, {"completed": 2, "failed": 0})
    assert offsets.next(end, 2999, None) == end
    assert offsets.next(end, 3000, None)["rows"]["completed"] == 1


def test_the_stream_stays_behind_the_clock_of_redis(options: StreamOptions, jobs: FinishedJobs, redis: Redis) -> None:
    seconds, micros = redis.time()
    settled = Offsets(replace(options, lag_ms=60_000), jobs).settled()
    assert 0 <= settled - (seconds * 1000 + micros // 1000 - 60_000) < 10_000


def test_a_job_that_finished_too_late_is_an_error_and_not_a_silent_gap(
    options: StreamOptions, jobs: FinishedJobs, finish: Finish
) -> None:
    offsets = Offsets(options, jobs)
    finish(1000, 2000)
    end = ends(offsets, 3000, None)[-1]
    finish(2999, 2999, state="failed")
    with pytest.raises(DataSourceError, match="2 failed jobs have a finish time that this stream has passed.*lagMs=0"):
        offsets.next(end, 9000, None)
    finish(8000)
    with pytest.raises(DataSourceError, match="2 failed jobs"):
        offsets.next(end, 9000, None)
    tolerant = Offsets(replace(options, fail_on_data_loss=False), jobs)
    assert tolerant.next(end, 9000, None)["rows"] == {"completed": 1, "failed": 0}


def test_an_old_job_that_is_removed_hides_no_late_one(
    options: StreamOptions, jobs: FinishedJobs, finish: Finish, redis: Redis, queue: Queue
) -> None:
    offsets = Offsets(options, jobs)
    finish(*range(1_000, 100_000, 1_000))
    end = ends(offsets, 100_000, None)[-1]
    redis.zremrangebyrank(queue.to_key("completed"), 0, 29)
    finish(99_500, 95_000)
    with pytest.raises(DataSourceError, match="2 completed jobs have a finish time that this stream has passed"):
        offsets.next(end, 200_000, None)


def test_a_checkpoint_of_another_queue_is_refused(options: StreamOptions, jobs: FinishedJobs, finish: Finish) -> None:
    finish(1000)
    start, end = ends(Offsets(options, jobs), 3000, None)
    other = Offsets(replace(options, address=replace(options.address, name="another")), jobs)
    name = options.address.name
    for refused in (lambda: other.next(start, 9000, None), lambda: other.windows(start, end)):
        with pytest.raises(DataSourceError, match=f"of the queue 'bull:{name}', and the query reads 'bull:another'"):
            refused()
    unnamed = {key: value for key, value in start.items() if key != "queue"}
    assert other.next(unnamed, 9000, None)["queue"] == "bull:another", "checkpoints of before have no name"


def test_a_checkpoint_of_more_states_is_refused(options: StreamOptions, jobs: FinishedJobs) -> None:
    start = Offsets(options, jobs).initial()
    with pytest.raises(DataSourceError, match="a query keeps its source and its states"):
        Offsets(replace(options, states=("failed",)), jobs).next(start, 9000, None)


def test_jobs_that_were_read_and_then_removed_are_no_loss(
    options: StreamOptions, jobs: FinishedJobs, finish: Finish, redis: Redis, queue: Queue
) -> None:
    offsets = Offsets(options, jobs)
    finish(1000, 2000)
    end = ends(offsets, 3000, None)[-1]
    redis.delete(queue.to_key("completed"))
    finish(4000)
    assert offsets.next(end, 9000, None)["rows"]["completed"] == 1


def test_a_replay_finds_the_same_jobs_or_says_that_some_are_gone(
    options: StreamOptions, jobs: FinishedJobs, finish: Finish, redis: Redis, queue: Queue
) -> None:
    offsets = Offsets(options, jobs)
    finish(1000, 2000, 3000)
    start, end = ends(offsets, 5000, None)
    assert offsets.windows(start, end) == [window_of("completed", 0, 5000, 3), window_of("failed", 0, 5000, 0)]
    redis.zremrangebyscore(queue.to_key("completed"), 2000, 2000)
    with pytest.raises(DataSourceError, match="were removed or retried before they were read"):
        offsets.windows(start, end)
    tolerant = Offsets(replace(options, fail_on_data_loss=False), jobs)
    assert tolerant.windows(start, end)[0].size == 2


def test_a_query_begins_where_its_options_say(options: StreamOptions, jobs: FinishedJobs, finish: Finish) -> None:
    finish(1000, 2000)
    initial = Offsets(options, jobs).initial()
    assert (initial["completed"], initial["failed"], initial["counts"]) == (0, 0, {"completed": 0, "failed": 0})
    latest = Offsets(replace(options, starting_offsets="latest"), jobs).initial()
    assert latest["completed"] > 2000
    assert latest["counts"] == {"completed": 2, "failed": 0}
    given = replace(options, starting_offsets='{"completed": 1000, "failed": 5}')
    (_, end) = ends(Offsets(given, jobs), 9000, None)
    assert end["rows"] == {"completed": 1, "failed": 0}


def test_offsets_in_the_future_are_not_checked_for_late_jobs(
    options: StreamOptions, jobs: FinishedJobs, finish: Finish
) -> None:
    far = 9 * 10**12
    offsets = Offsets(replace(options, starting_offsets=f'{{"completed": {far}, "failed": {far}}}'), jobs)
    start = offsets.initial()
    finish(1000)
    assert offsets.next(start, far + 1, None) == start


@pytest.mark.parametrize("given", ["soon", "{}", '{"completed": 1}', '{"completed": "1", "failed": 2}', "[1]"])
def test_other_starting_offsets_are_refused(options: StreamOptions, jobs: FinishedJobs, given: str) -> None:
    with pytest.raises(InvalidOptionError, match="startingOffsets must be earliest, latest or such as"):
        Offsets(replace(options, starting_offsets=given), jobs).initial()


def test_the_offset_of_another_source_is_refused(options: StreamOptions, jobs: FinishedJobs) -> None:
    with pytest.raises(DataSourceError, match="a query keeps its source and its states"):
        Offsets(options, jobs).next({"id": "1-0"}, 9000, None)


def test_a_window_is_divided_at_whole_milliseconds_without_gap_or_overlap(jobs: FinishedJobs, finish: Finish) -> None:
    chance = random.Random(3)
    times = [chance.choice((1000, 1001, 5000, 5001, 10**9)) for _ in range(2000)] + [7] * 50
    finish(*times)
    parts = jobs.split(window_of("completed", 7, 10**10, 2000), 4)
    assert (parts[0].start, parts[-1].stop) == (7, 10**10)
    assert all(left.stop == right.start for left, right in itertools.pairwise(parts))
    assert [part.size for part in parts] == [sum(part.start < at <= part.stop for at in times) for part in parts]
    assert 2 <= len(parts) <= 4


def test_few_jobs_are_read_by_few_tasks(jobs: FinishedJobs, finish: Finish) -> None:
    finish(*range(1, 4001))
    finish(*range(1, 11), state="failed")
    windows = [window_of("completed", 0, 9000, 4000), window_of("failed", 0, 9000, 10)]
    assert [part.size for part in jobs.share(windows, 8)] == [1000, 1000, 1000, 1000, 10]
    assert [part.size for part in jobs.share(windows, 2)] == [2000, 2000, 10]
