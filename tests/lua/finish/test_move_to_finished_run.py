"""lua/finish/move_to_finished.lua: the list of the run of a worker, with the ids of the jobs that it finished."""

import pytest
import redis

NOW = 1795225366409
WEEK = 7 * 86_400


def listed(client, queue, run="r1"):
    return client.lrange(f"bull:{queue}:ext:run-{run}", 0, -1)


@pytest.mark.parametrize("target", ["completed", "failed"])
@pytest.mark.parametrize("keep", [-1, 0, 1])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_run_lists_the_jobs_that_finished_in_their_order_for_a_week(
    active, finish, client, queue, target, keep, count
):
    ids = active(queue, count)
    row = ("null",) if target == "completed" else ("boom", "[]", 1)
    finish(queue, *((job_id, *row) for job_id in ids), target=target, keep=keep, worker_run="r1")
    assert listed(client, queue) == ids
    assert WEEK - 60 < client.ttl(f"bull:{queue}:ext:run-r1") <= WEEK


def test_each_call_and_each_worker_of_the_run_appends(active, finish, client, queue):
    ids = active(queue, 3)
    for job_id in reversed(ids):
        finish(queue, (job_id, "null"), worker_run="r1")
    assert listed(client, queue) == ["3", "2", "1"]


def test_the_list_of_a_run_is_noted_once_for_who_removes_the_queue(active, finish, client, queue):
    ids = active(queue, 3)
    finish(queue, (ids[0], "null"), worker_run="r1")
    finish(queue, (ids[1], "null"), worker_run="r1")
    finish(queue, (ids[2], "null"), worker_run="r2")
    assert client.lrange(f"bull:{queue}:ext:named", 0, -1) == ["run-r2", "run-r1"]


def test_names_of_lists_that_are_gone_are_forgotten_and_others_stay(active, finish, client, queue):
    """So the names do not grow with the runs of years."""
    ids = active(queue, 200)
    for number, job_id in enumerate(ids):
        finish(queue, (job_id, "null"), worker_run=f"r{number}")
        if number % 10:
            client.delete(f"bull:{queue}:ext:run-r{number}")
    noted = client.lrange(f"bull:{queue}:ext:named", 0, -1)
    assert {f"run-r{number}" for number in range(0, 200, 10)} <= set(noted)
    assert len(noted) < 40


@pytest.mark.parametrize("odd", [lambda client, key: client.set(key, 1), lambda client, key: client.hset(key, "a", 1)])
def test_names_of_another_type_stop_no_job(active, finish, client, queue, odd):
    (job_id,) = active(queue, 1)
    odd(client, f"bull:{queue}:ext:named")
    assert finish(queue, (job_id, "null"), worker_run="r1")[0] == {}
    assert listed(client, queue) == ["1"]


def test_a_refused_job_is_not_listed(active, finish, client, queue):
    active(queue, 4)
    client.set(f"bull:{queue}:2:lock", "of another worker")
    rows = [(job_id, "null") for job_id in ("1", "2", "none", "3", "3")]
    assert finish(queue, *rows, worker_run="r1")[0] == {1: -6, 2: -1, 4: -2}
    assert listed(client, queue) == ["1", "3"]
    assert finish(queue, ("1", "null"), worker_run="r1")[0] == {0: -2}
    assert listed(client, queue) == ["1", "3"]


def test_jobs_of_a_queue_with_a_global_concurrency_are_listed_once(active, finish, client, queue):
    ids = active(queue, 3)
    client.hset(f"bull:{queue}:meta", "concurrency", 3)
    finish(queue, *((job_id, "null") for job_id in ids), worker_run="r1")
    assert listed(client, queue) == ids


def test_without_a_run_nothing_is_listed(active, finish, client, queue):
    active(queue)
    finish(queue, ("1", "null"))
    assert client.keys(f"bull:{queue}:ext:*") == []


def test_a_key_of_another_type_is_an_error_before_anything_is_written(active, finish, client, queue, dump):
    active(queue, 2)
    client.set(f"bull:{queue}:ext:run-r1", "something else")
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match=r"ext:run-r1 is a string, not the list of a run"):
        finish(queue, ("1", "null"), ("2", "null"), worker_run="r1")
    assert dump(queue) == before
