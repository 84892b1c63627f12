"""lua/manage/resume.lua: resuming a paused queue."""

import pytest

SCRIPT = "manage/resume"


def test_an_empty_paused_queue_is_only_unmarked(run, queue, pause, dump):
    pause()
    assert run(SCRIPT, queue) == 0
    assert dump(queue) == {"events": [[("event", "resumed")]]}


def test_paused_jobs_wait_again_and_a_worker_is_woken(run, queue, client, pause, dump):
    pause()
    client.rpush(f"bull:{queue}:paused", "2", "1")
    run(SCRIPT, queue)
    assert dump(queue) == {"wait": ["2", "1"], "marker": [("0", 0)], "events": [[("event", "resumed")]]}


def test_a_prioritized_job_wakes_a_worker_too(run, queue, client, pause, dump):
    pause()
    client.zadd(f"bull:{queue}:prioritized", {"1": 1})
    client.zadd(f"bull:{queue}:delayed", {"2": 8192})
    run(SCRIPT, queue)
    assert dump(queue)["marker"] == [("0", 0)]


def test_without_a_job_to_run_the_marker_has_the_next_due_time(run, queue, client, pause, dump):
    pause()
    client.zadd(f"bull:{queue}:delayed", {"1": 8193})
    run(SCRIPT, queue)
    assert dump(queue)["marker"] == [("1", 8193 / 4096)]


def test_resuming_a_running_queue_changes_no_job(run, queue, client, dump):
    client.rpush(f"bull:{queue}:wait", "1")
    run(SCRIPT, queue)
    assert dump(queue) == {"wait": ["1"], "events": [[("event", "resumed")]]}


def test_resuming_a_running_queue_of_6_wakes_a_worker(run, queue, client, dump):
    client.hset(f"bull:{queue}:meta", "version", "bullmq:6.7.0")
    client.rpush(f"bull:{queue}:wait", "1")
    run(SCRIPT, queue)
    assert dump(queue)["marker"] == [("0", 0)]


def test_jobs_that_version_6_left_in_wait_set_the_marker(run, queue, client, pause, dump):
    pause()
    client.rpush(f"bull:{queue}:wait", "2", "1")
    run(SCRIPT, queue)
    assert dump(queue)["wait"] == ["2", "1"]
    assert dump(queue)["marker"] == [("0", 0)]


@pytest.mark.parametrize(("waiting", "paused"), [(3, 2), (2, 3), (1, 2500), (2500, 1), (1200, 2500), (2500, 1200)])
def test_no_job_is_lost_when_both_lists_exist(run, queue, client, pause, dump, waiting, paused):
    pause()
    client.rpush(f"bull:{queue}:wait", *(f"w{n}" for n in range(waiting)))
    client.rpush(f"bull:{queue}:paused", *(f"p{n}" for n in range(paused)))
    run(SCRIPT, queue)
    assert dump(queue)["wait"] == [f"w{n}" for n in range(waiting)] + [f"p{n}" for n in range(paused)]
    assert "paused" not in dump(queue)
