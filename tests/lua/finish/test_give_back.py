"""lua/finish/give_back.lua: jobs go back as if they had never been claimed."""

import pytest
import redis

SCRIPT = "finish/give_back"
SIGNALS = ("events", "marker")


def back(job_id, score="", *, before=None, token="t"):
    """Arguments for one job; `before` are the stamps that its fetch has overwritten."""
    return [job_id, token, score, before is not None, *(before or ("", "", ""))]


def seen(keys):
    return {name: value for name, value in keys.items() if name not in SIGNALS}


def test_without_jobs_nothing_happens(run, queue):
    assert run(SCRIPT, queue) == []


def test_half_a_job_is_refused_before_anything_is_written(run, add, fetch, queue, dump):
    add(queue, "a")
    fetch(queue, 1)
    before = dump(queue)
    with pytest.raises(redis.ResponseError, match="give_back"):
        run(SCRIPT, queue, *back("1")[:-1])
    assert dump(queue) == before


@pytest.mark.parametrize("slots", [0, 1, 3])
@pytest.mark.parametrize("stored", [(), ("2", "5", "old")], ids=["new", "retried"])
def test_jobs_of_wait_are_back_in_their_place_and_unchanged(
    run, add, fetch, client, queue, dump, events, slots, stored
):
    add(queue, *"abcd")
    for job_id in "123" if stored else "":
        client.hset(f"bull:{queue}:{job_id}", mapping=dict(zip(("ats", "processedOn", "pb"), stored, strict=True)))
    before = seen(dump(queue))
    fetch(queue, 3, slots=slots, worker="w")
    jobs = [back(n, before=(stored or ("", "", "")) if int(n) <= slots else None) for n in "321"]
    assert run(SCRIPT, queue, *(part for job in jobs for part in job)) == [0, 0, 0]
    assert seen(dump(queue)) == before
    assert events(queue)[-3:] == ["waiting 3 active", "waiting 2 active", "waiting 1 active"]


def test_prioritized_jobs_have_their_old_score(run, add, fetch, client, queue, dump):
    add(queue, *["x"] * 12, priority=7)
    before = seen(dump(queue))
    scores = fetch(queue, 20, slots=2, raw=True)[4]
    jobs = [back(str(n), scores[n - 1], before=("", "", "") if n <= 2 else None) for n in range(12, 0, -1)]
    assert set(run(SCRIPT, queue, *(part for job in jobs for part in job))) == {0}
    assert seen(dump(queue)) == before


def test_a_deleted_priority_counter_is_restored(run, add, fetch, client, queue, dump):
    add(queue, "a", "b", priority=7)
    scores = fetch(queue, 2, slots=0, raw=True)[4]
    client.delete(f"bull:{queue}:pc")
    run(SCRIPT, queue, *back("2", scores[1]), *back("1", scores[0]))
    add(queue, "c", priority=7)
    assert [job_id for job_id, _ in dump(queue)["prioritized"]] == ["1", "2", "3"]


def test_in_a_paused_queue_they_go_to_paused(run, add, fetch, client, queue, dump):
    add(queue, "a")
    fetch(queue, 1, slots=0)
    client.hset(f"bull:{queue}:meta", "paused", 1)
    client.delete(f"bull:{queue}:marker")
    assert run(SCRIPT, queue, *back("1")) == [0]
    assert dump(queue)["paused"] == ["1"]
    assert "marker" not in dump(queue)


def test_jobs_without_our_lock_stay_and_the_others_go_back(run, add, fetch, client, queue, dump):
    add(queue, *"abcde")
    fetch(queue, 5, slots=0)
    client.delete(f"bull:{queue}:1", f"bull:{queue}:2:lock")
    client.lrem(f"bull:{queue}:active", 1, "4")
    jobs = [back("1"), back("2"), back("3", token="other"), back("4"), back("5")]
    assert run(SCRIPT, queue, *(part for job in jobs for part in job)) == [-1, -2, -6, -3, 0]
    assert dump(queue)["wait"] == ["5"]
    assert dump(queue)["active"] == ["3", "2", "1"]


def test_a_call_that_stopped_after_the_move_is_completed(run, add, fetch, client, queue, dump):
    add(queue, "a")
    fetch(queue, 1, slots=0)
    client.lrem(f"bull:{queue}:active", 1, "1")
    client.rpush(f"bull:{queue}:wait", "1")
    assert run(SCRIPT, queue, *back("1")) == [0]
    after = dump(queue)
    assert after["wait"] == ["1"]
    assert "1:lock" not in after


def test_damaged_keys_of_one_job_stop_no_other_job(run, add, fetch, client, queue, dump):
    add(queue, *"abc")
    fetch(queue, 3, slots=0)
    for key in (f"bull:{queue}:1", f"bull:{queue}:2:lock"):
        client.delete(key)
        client.sadd(key, "something else")
    assert run(SCRIPT, queue, *back("1"), *back("2"), *back("3")) == [-1, -6, 0]
    assert dump(queue)["wait"] == ["3"]


def test_an_idle_worker_is_woken(run, add, fetch, client, queue, dump):
    add(queue, "a")
    fetch(queue, 1, slots=0)
    client.delete(f"bull:{queue}:marker")
    run(SCRIPT, queue, *back("1"))
    assert dump(queue)["marker"] == [("0", 0.0)]
