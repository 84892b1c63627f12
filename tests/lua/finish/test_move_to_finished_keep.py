"""lua/finish/move_to_finished.lua: keep rules and metrics."""

import pytest

NOW = 1795225366409
MINUTE = 60_000


def test_keep_none_leaves_nothing_of_the_job_but_its_events(active, finish, client, queue, dump, events):
    active(queue)
    prefix = f"bull:{queue}:1"
    client.rpush(f"{prefix}:logs", "row")
    client.hset(f"{prefix}:processed", "child", "1")
    client.hset(f"{prefix}:failed", "child", "why")
    finish(queue, ("1", "null"), keep=0)
    assert set(dump(queue)) == {"events", "id", "marker", "meta"}
    assert events(queue)[-2:] == ["completed 1 null active", "drained"]


def test_keep_n_removes_all_but_the_newest_with_their_logs(active, finish, client, queue, dump):
    active(queue, 4)
    for moment, job in enumerate(["1", "2", "3"]):
        client.rpush(f"bull:{queue}:{job}:logs", "row")
        finish(queue, (job, "null"), now=NOW + moment)
    finish(queue, ("4", "null"), now=NOW + 3, keep=2)
    after = dump(queue)
    assert after["completed"] == [("3", NOW + 2), ("4", NOW + 3)]
    assert {"1", "2", "1:logs", "2:logs"}.isdisjoint(after)
    assert {"3", "4", "3:logs"} <= set(after)


def test_keep_by_age_removes_what_is_too_old_also_at_the_very_limit(active, finish, queue, dump):
    active(queue, 3)
    finish(queue, ("1", "null"), now=NOW - 10_000)
    finish(queue, ("2", "null"), now=NOW - 9_999)
    finish(queue, ("3", "null"), age=10)
    assert dump(queue)["completed"] == [("2", NOW - 9_999), ("3", NOW)]
    assert "1" not in dump(queue)


def test_keep_by_age_and_count_removes_what_either_does(active, finish, queue, dump):
    active(queue, 4)
    finish(queue, ("1", "null"), now=NOW - 10_000)
    finish(queue, ("2", "null"), now=NOW - 2)
    finish(queue, ("3", "null"), now=NOW - 1)
    finish(queue, ("4", "null"), keep=2, age=10)
    assert [job for job, _ in dump(queue)["completed"]] == ["3", "4"]


def test_each_run_has_its_own_keep_rule(active, run, queue, dump):
    active(queue, 3)
    head = [NOW, 0, 0, "t", 30_000, "", "", "", 0, "", 0, ""]
    keep_all = [1, "completed", "t", -1, "", "", "", "", "1", "null"]
    keep_none = [1, "completed", "t", 0, "", "", "", "", "2", "null"]
    failed = [1, "failed", "t", 1, "", "", "", "", "3", "x", "[]", 1]
    run("finish/move_to_finished", queue, *head, *keep_all, *keep_none, *failed)
    assert dump(queue)["completed"] == [("1", NOW)]
    assert dump(queue)["failed"] == [("3", NOW)]
    assert "2" not in dump(queue)


@pytest.mark.parametrize("rule", [{"keep": 1}, {"age": 0}])
def test_a_stricter_rule_removes_500_old_jobs_per_job_that_finishes(active, finish, client, queue, dump, rule):
    ids = active(queue, 800)
    finish(queue, *[(job, "null") for job in ids], now=NOW - 1)
    active(queue, 2)
    finish(queue, ("801", "null"), now=NOW, **rule)
    assert client.zcard(f"bull:{queue}:completed") == 300
    finish(queue, ("802", "null"), now=NOW + 1, **rule)
    left = {"802"} if rule == {"keep": 1} else set()
    assert set(dump(queue)) - {"completed"} == {*left, "events", "id", "marker", "meta"}


@pytest.mark.parametrize("target", ["completed", "failed"])
def test_metrics_count_each_minute_once_it_is_over(active, finish, queue, dump, target):
    active(queue, 5)
    done = [(str(n), "null") if target == "completed" else (str(n), "x", "[]", 1) for n in range(1, 6)]
    start = NOW - NOW % MINUTE
    finish(queue, *done[:3], target=target, points=10, now=start)
    assert f"metrics:{target}:data" not in dump(queue)
    finish(queue, done[3], target=target, points=10, now=start + MINUTE)
    finish(queue, done[4], target=target, points=10, now=start + 4 * MINUTE)
    assert dump(queue)[f"metrics:{target}:data"] == ["0", "0", "1", "3"]
    assert dump(queue)[f"metrics:{target}"] == {
        "count": "5",
        "prevCount": "4",
        "prevTS": str(start + 4 * MINUTE),
    }


def test_metrics_keep_no_more_points_than_asked_for(active, finish, queue, dump):
    active(queue, 2)
    finish(queue, ("1", "null"), points=3, now=NOW)
    finish(queue, ("2", "null"), points=3, now=NOW + 100 * MINUTE)
    assert dump(queue)["metrics:completed:data"] == ["0", "0", "1"]


def test_refused_jobs_and_workers_without_metrics_do_not_count(active, finish, client, queue, dump):
    active(queue, 2)
    client.delete(f"bull:{queue}:1:lock")
    finish(queue, ("1", "null"), points=3)
    finish(queue, ("2", "null"))
    assert not any(key.startswith("metrics") for key in dump(queue))
