"""lua/legacy/add_2.lua: adding a job to a queue of Bull 2.x."""

import json

import pytest

SCRIPT = "legacy/add_2"
NOW = 1795225366409


@pytest.fixture
def add(run, queue):
    """Adds a job and returns the reply."""

    def add(*, opts="{}", due=0, lifo=False, priority=0, job_id=""):
        return run(SCRIPT, queue, '{"n":1}', opts, NOW, max(due - NOW, 0), due, 1, lifo, priority, job_id, "token")

    return add


def test_jobs_with_a_priority_run_before_others_and_equal_ones_in_turn(add, queue, dump):
    for priority in (0, 3, 3, 1, 0):
        add(priority=priority)
    add(priority=1, lifo=True)
    state = dump(queue)
    assert state["wait"] == ["5", "1", "3", "2", "4", "6"]
    assert state["priority"] == [("4", 1), ("2", 3), ("3", 3)]


def test_a_custom_id_that_exists_adds_nothing(add, queue, dump):
    assert add(job_id="a", opts='{"jobId":"a"}') == ["a", 1]
    before = dump(queue)
    assert add(job_id="a", opts='{"jobId":"a"}', due=NOW + 5000) == ["a", 0]
    assert dump(queue) == {**before, "id": "2"}


def test_the_score_of_a_delayed_job_has_the_number_of_the_counter(add, queue, dump):
    add(job_id="a")
    add(job_id="b", due=NOW + 5000)
    assert dump(queue)["delayed"] == [("b", (NOW + 5000) * 4096 + 2)]


@pytest.mark.parametrize(("due", "job_id", "shown"), [(0, "", "1"), (NOW + 5, "", 1), (NOW + 5, "a", "a")])
def test_the_job_is_published(add, queue, client, due, job_id, shown):
    with client.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(f"waiting@{queue}")
        heard.get_message(timeout=5)
        add(due=due, job_id=job_id, opts=json.dumps({"jobId": job_id} if job_id else {}))
        message = heard.get_message(timeout=5) or heard.get_message(timeout=5)
    token, job = json.loads(message["data"])
    assert token == "token"
    assert (job["id"], job["opts"], job["data"]) == (shown, {"jobId": shown}, {"n": 1})
