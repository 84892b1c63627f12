"""Searching the jobs of a state while others come and go."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable

import pytest
from redis import Redis

from bullrush import Queue, Worker
from bullrush.errors import InvalidOptionError
from bullrush.inspection import Searched, SearchPosition


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first part of a search look at few jobs, so that there are others."""
    monkeypatch.setattr("bullrush.inspection.search.AT_ONCE", 500)


def wait_in(redis: Redis, queue: Queue, ids: Iterable[object], key: str = "wait") -> None:
    """Let jobs with data wait; the last one is the newest."""
    pipeline = redis.pipeline(transaction=False)
    for job_id in ids:
        fields: dict[str, str | int] = {"name": "mail", "data": json.dumps({"user": {"id": job_id}}), "opts": "{}"}
        pipeline.hset(f"bull:{queue.name}:{job_id}", mapping={**fields, "timestamp": 1, "delay": 0, "priority": 0})
        pipeline.lpush(f"bull:{queue.name}:{key}", str(job_id))
    pipeline.execute()


def rest(queue: Queue, where: str, after: SearchPosition | None, state: str = "waiting") -> list[str]:
    """Go on with a search until its end, and return what it finds."""
    ids: list[str] = []
    while True:
        found = queue.search(where, state, after=after)
        ids += found.job_ids
        if found.after is None:
            return ids
        after = found.after


def begun(queue: Queue, where: str, state: str = "waiting") -> Searched:
    """Return the first part of a search that has more parts."""
    found = queue.search(where, state)
    assert found.after is not None and found.looked_at < found.total
    return found


def test_all_needles_are_found(queue: Queue, redis: Redis) -> None:
    needles = set(random.Random(1).sample(range(5_000), 20))
    wait_in(redis, queue, (f"{number}-{'needle' if number in needles else 'hay'}" for number in range(5_000)))
    first = begun(queue, "data.user.id:*-needle")
    assert (first.looked_at, first.total) == (500, 5_000)
    found = first.job_ids + rest(queue, "data.user.id:*-needle", first.after)
    assert sorted(found) == sorted(f"{number}-needle" for number in needles)


def test_the_newest_jobs_come_first(queue: Queue) -> None:
    queue.add_bulk([{"name": "x"} for _ in range(1_200)])
    first = begun(queue, "id:*")
    assert first.job_ids == [str(number) for number in range(1_200, 700, -1)]
    assert rest(queue, "id:*", first.after) == [str(number) for number in range(700, 0, -1)]


@pytest.mark.parametrize("removed", [50, 300, 480, 2_500])
def test_a_job_that_stays_is_found_though_others_leave_before_it(queue: Queue, redis: Redis, removed: int) -> None:
    wait_in(redis, queue, range(6_000))
    first = begun(queue, "name:mail")
    for job_id in random.Random(removed).sample(range(6_000 - 480), removed - 40) + list(range(5_999, 5_959, -1)):
        redis.lrem(f"bull:{queue.name}:wait", 1, str(job_id))
    stayed = set(redis.lrange(f"bull:{queue.name}:wait", 0, -1))
    assert stayed <= {*first.job_ids, *rest(queue, "name:mail", first.after)}


@pytest.mark.parametrize("added", [10, 2_000, 7_000])
def test_a_job_that_stays_is_found_though_others_come(queue: Queue, redis: Redis, added: int) -> None:
    wait_in(redis, queue, range(3_000))
    first = begun(queue, "name:mail")
    wait_in(redis, queue, range(10_000, 10_000 + added))
    found = rest(queue, "name:mail", first.after)
    assert sorted(map(int, first.job_ids + found)) == list(range(3_000))


def test_a_search_goes_on_where_none_of_its_last_jobs_is_left(queue: Queue, redis: Redis) -> None:
    wait_in(redis, queue, range(2_000))
    first = begun(queue, "name:mail")
    redis.ltrim(f"bull:{queue.name}:wait", 700, -1)
    assert {int(job_id) for job_id in rest(queue, "name:mail", first.after)} >= set(range(1_300))


def test_a_queue_may_be_paused_and_resumed_meanwhile(queue: Queue, redis: Redis) -> None:
    wait_in(redis, queue, range(1_500))
    first = begun(queue, "name:mail")
    redis.rename(f"bull:{queue.name}:wait", f"bull:{queue.name}:paused")
    second = queue.search("name:mail", "waiting", after=first.after)
    redis.rename(f"bull:{queue.name}:paused", f"bull:{queue.name}:wait")
    found = first.job_ids + second.job_ids + (rest(queue, "name:mail", second.after) if second.after else [])
    assert sorted(map(int, found)) == list(range(1_500))


def test_jobs_of_both_lists_of_a_paused_queue_are_found(queue: Queue, redis: Redis) -> None:
    wait_in(redis, queue, range(700))
    wait_in(redis, queue, range(1_000, 1_700), "paused")
    first = begun(queue, "name:mail")
    assert first.total == 1_400
    assert len({*first.job_ids, *rest(queue, "name:mail", first.after)}) == 1_400


def test_sets_are_searched_like_lists(queue: Queue, redis: Redis) -> None:
    queue.add_bulk([{"name": "x", "data": {"n": number}, "opts": {"delay": 60_000}} for number in range(1_500)])
    first = begun(queue, "data.n>99", "delayed")
    redis.zremrangebyrank(f"bull:{queue.name}:delayed", -300, -1)
    found = first.job_ids + rest(queue, "data.n>99", first.after, "delayed")
    assert set(redis.zrange(f"bull:{queue.name}:delayed", 100, -1)) <= set(found)


def test_fields_and_times_are_conditions(queue: Queue, redis_url: str) -> None:
    def fail(job: object) -> None:
        raise ValueError("connection refused by card 17")

    queue.add_bulk([{"name": "pay", "opts": {"attempts": 3}}, {"name": "refund"}])
    with Worker(queue.name, fail, url=redis_url) as worker:
        worker.run(until="empty")
    for where, ids in (
        ("attempt>2", {"1"}),
        ("attempt:1", {"2"}),
        ('error:"refused by"', {"1", "2"}),
        ("error:accepted", set()),
        ("failed<1h name:refund", {"2"}),
        ("failed>1h", set()),
        ("added<1h started<1h", {"1", "2"}),
        ("completed<1h", set()),
    ):
        assert set(queue.search(where, "failed").job_ids) == ids, where


def test_a_job_that_has_not_run_has_no_attempts(queue: Queue) -> None:
    queue.add("x")
    found = [queue.search(where, "waiting").job_ids for where in ("attempt<1", "attempt:0", "started>1h", "priority:0")]
    assert found == [["1"], ["1"], [], ["1"]]


def test_large_data_is_searched_and_what_is_too_large_is_counted(queue: Queue) -> None:
    queue.add("large", {"x": "y" * 900_000, "z": "needle"})
    queue.add("huge", {"x": "y" * 1_100_000, "z": "needle"})
    queue.add_bulk([{"name": "large", "data": {"x": "y" * 20_000, "z": "hay"}} for _ in range(50)])
    found = queue.search("data.z:needle", "waiting")
    assert (found.job_ids, found.looked_at, found.too_large) == (["1"], 52, 1)


def test_short_and_long_fields_are_found_in_the_order_of_their_jobs(queue: Queue, redis: Redis) -> None:
    """Short ones are sent, long ones are looked at in Redis."""
    lengths = [10, 5_000, 1_900, 250_000, 0, 3_000, 100_000, 60]
    jobs = queue.add_bulk([{"name": "n", "data": {"x": "y" * length, "z": "needle"}} for length in lengths * 30])
    newest_first = [job.id for job in reversed(jobs)]
    assert queue.search("data.z:needle", "waiting").job_ids == newest_first
    for number, job in enumerate(jobs):
        redis.hset(f"bull:{queue.name}:{job.id}", "failedReason", "bad luck" + "!" * lengths[number % 8])
    assert queue.search('error:"bad luck" data.z:needle', "waiting").job_ids == newest_first
    assert queue.search('error:"!!" data.z:needle', "waiting").job_ids == [
        job.id for number, job in reversed([*enumerate(jobs)]) if lengths[number % 8] > 1
    ]


def test_a_search_changes_nothing(queue: Queue, redis: Redis) -> None:
    wait_in(redis, queue, range(700))
    before = sorted(redis.scan_iter(f"bull:{queue.name}:*"))
    assert rest(queue, "data.user.id:5", None) == ["5"]
    assert sorted(redis.scan_iter(f"bull:{queue.name}:*")) == before


def test_a_state_that_does_not_exist_is_refused(queue: Queue) -> None:
    with pytest.raises(InvalidOptionError, match="There is no job state 'waitin'. Did you mean 'waiting'?"):
        queue.search("name:x", "waitin")
