"""lua/legacy/mirror_job.lua: the end of a job in the queue of Bull that it came from."""

import pytest

SCRIPT = "legacy/mirror_job"
NOW = 1795225366409


def mirror(run, queue, id="1", state="completed", kind="zset", *, count="", age="", channel="", message=""):
    value = ("returnvalue", "5") if state == "completed" else ("failedReason", "no")
    return run(SCRIPT, queue, id, state, NOW, kind, count, age, channel, message, *value)


@pytest.fixture
def jobs(client, queue):
    for id in range(1, 6):
        client.hset(f"bull:{queue}:{id}", "data", "{}")


@pytest.mark.usefixtures("jobs")
def test_a_job_ends_once(run, queue, dump):
    assert mirror(run, queue) == 1
    state = dump(queue)
    assert state["completed"] == [("1", NOW)]
    assert state["1"] == {"data": "{}", "returnvalue": "5"}
    assert mirror(run, queue, state="failed") == 0
    assert dump(queue) == state


@pytest.mark.usefixtures("jobs")
def test_a_job_of_bull_2_ends_in_a_set(run, queue, dump):
    assert mirror(run, queue, state="failed", kind="set") == 1
    assert dump(queue)["failed"] == {"1"}
    assert mirror(run, queue, state="failed", kind="set") == 0


@pytest.mark.usefixtures("jobs")
def test_the_message_is_published(run, client, queue):
    with client.pubsub() as heard:
        heard.subscribe(f"bull:{queue}:completed")
        assert heard.get_message(timeout=5)["type"] == "subscribe"
        mirror(run, queue, channel=f"bull:{queue}:completed", message='{"jobId":"1","val":"5"}')
        assert heard.get_message(timeout=5)["data"] == '{"jobId":"1","val":"5"}'


def test_a_job_that_was_removed_there_is_left_alone(run, queue, dump):
    assert mirror(run, queue) == 0
    assert dump(queue) == {}


@pytest.mark.usefixtures("jobs")
def test_the_rules_of_the_job_about_keeping_it_hold(run, client, queue, dump):
    client.zadd(f"bull:{queue}:completed", {"2": NOW - 3000, "3": NOW - 2000, "4": NOW - 1000})
    mirror(run, queue, "1", count=3)
    assert dump(queue)["completed"] == [("3", NOW - 2000), ("4", NOW - 1000), ("1", NOW)]
    mirror(run, queue, "5", age=1)
    assert dump(queue)["completed"] == [("1", NOW), ("5", NOW)]
    assert not client.exists(f"bull:{queue}:2", f"bull:{queue}:3", f"bull:{queue}:4")


@pytest.mark.usefixtures("jobs")
def test_a_job_that_is_not_kept_is_removed(run, queue, dump):
    assert mirror(run, queue, count=0) == 1
    state = dump(queue)
    assert "1" not in state
    assert "completed" not in state
