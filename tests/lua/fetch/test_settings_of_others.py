"""Settings in `meta` that any client may write: used as in BullMQ, and ignored where BullMQ fails on them."""

import pytest

NOW = 1795225366409


@pytest.fixture
def queue_with(client, add, queue):
    """`queue_with(field=value)`: a queue of six jobs with settings in meta."""

    def prepare(**settings):
        add(queue, *["{}"] * 6)
        client.hset(f"bull:{queue}:meta", mapping=settings)
        return queue

    return prepare


@pytest.mark.parametrize(
    ("concurrency", "taken"),
    [("4", 4), ("1.5", 2), ("1e3", 6), ("0x2", 2), ("Infinity", 6), ("99999999999999999999", 6), ("0", 0), ("-5", 0)],
)
def test_a_concurrency_allows_as_many_jobs_as_in_bullmq(queue_with, fetch, concurrency, taken):
    assert len(fetch(queue_with(concurrency=concurrency), 6).jobs) == taken


@pytest.mark.parametrize("field", ["concurrency", "max", "duration", "opts.maxLenEvents"])
@pytest.mark.parametrize("value", ["abc", "null", "nan", ""])
def test_a_value_that_is_no_number_is_ignored(queue_with, add, fetch, finish, field, value):
    queue = queue_with(**{field: value})
    add(queue, "{}", delay=1, timestamp=NOW - 10)
    jobs = fetch(queue, 6).jobs
    assert len(jobs) == 6
    assert finish(queue, *((job, "1") for job in jobs))[0] == {}


@pytest.mark.parametrize(("most", "taken"), [("4", 4), ("1.5", 2), ("0", 1), ("-5", 1), ("Infinity", 6), ("1e3", 6)])
def test_a_rate_limit_allows_as_many_jobs_as_in_bullmq(queue_with, fetch, most, taken):
    queue = queue_with(max=most, duration="60000")
    assert len(fetch(queue, 6).jobs) == taken
    assert fetch(queue, 6).jobs == {}


@pytest.mark.parametrize("duration", ["", "abc", "nan", "Infinity", "99999999999999999999", "0", "0.5"])
def test_a_limit_without_a_usable_duration_limits_nothing(queue_with, fetch, duration):
    queue = queue_with(max="2", duration=duration)
    assert [len(fetch(queue, 6).jobs) for _ in range(3)] == [2, 2, 2]


@pytest.mark.parametrize("duration", ["60000.5", "-60000", "6e4"])
def test_a_duration_is_taken_as_whole_milliseconds(queue_with, fetch, client, duration):
    queue = queue_with(max="2", duration=duration)
    fetch(queue, 6)
    assert 59_000 < client.pttl(f"bull:{queue}:limiter") <= 60_001


@pytest.mark.parametrize("length", ["10.5", "-5", "1e3", "007", "99999999999999999999"])
def test_a_stream_length_that_redis_refuses_counts_as_the_default(queue_with, run, add, fetch, events, length):
    queue = queue_with(**{"opts.maxLenEvents": length})
    add(queue, "{}", delay=5000)
    fetch(queue)
    assert run("finish/retry_job", queue, NOW, "1", "t", 0, "boom", "[]") == 0
    assert run("manage/change_delay", queue, NOW, "7", 9000) == 0
    assert events(queue)[-2:] == ["waiting 1 active", f"delayed 7 {NOW + 9000}"]


@pytest.mark.parametrize("priority", ["nan", "inf", "-inf", "high", ""])
def test_a_job_whose_priority_is_no_number_waits_as_if_it_had_none(run, add, fetch, client, dump, queue, priority):
    add(queue, "{}", "{}")
    fetch(queue, 2)
    for job_id in "12":
        client.hset(f"bull:{queue}:{job_id}", "priority", priority)
    assert run("finish/retry_job", queue, NOW, "1", "t", 0, "boom", "[]") == 0
    assert run("finish/move_to_delayed", queue, NOW, "2", "t", 10, 0, "boom", "[]") == 0
    fetch(queue, 1, now=NOW + 20)
    assert dump(queue)["wait"] == ["2"]


def test_a_due_job_whose_key_is_no_hash_stops_no_other_job(add, fetch, client, queue, dump):
    add(queue, "{}", "{}", delay=1, timestamp=NOW - 10)
    client.set(f"bull:{queue}:1", "no hash")
    assert list(fetch(queue, 2).jobs) == ["1", "2"]
    assert dump(queue)["2"]["delay"] == "0"
