"""lua/legacy/retry.lua: a failed job of Bull runs again."""

import pytest

SCRIPT = "legacy/retry"
NOW = 1795225366409


@pytest.fixture(params=["1", "2", "3", "4"])
def flavor(request):
    return request.param


@pytest.fixture
def retry(run, queue, client, flavor):
    """Retries job 1, which has failed."""
    base = f"bull:{queue}:"
    client.hset(f"{base}1", mapping={"data": "{}", "failedReason": "no", "processedOn": 1, "finishedOn": 2})
    client.lpush(f"{base}wait", "2", "3")
    if flavor in "12":
        client.sadd(f"{base}failed", "1")
    else:
        client.zadd(f"{base}failed", {"1": 2})
    return lambda job_id="1", lifo=False: run(SCRIPT, queue, job_id, lifo, flavor, NOW, "token")


def test_it_goes_behind_those_that_wait(retry, queue, dump, flavor):
    assert retry() == 0
    state = dump(queue)
    assert state["wait"] == ["1", "3", "2"]
    assert "failed" not in state
    assert ("failedReason" in state["1"]) == (flavor in "12")
    assert state["1"].get("retriedOn") == (None if flavor in "12" else str(NOW))


def test_it_goes_to_the_front(retry, queue, dump):
    assert retry(lifo=True) == 0
    assert dump(queue)["wait"] == ["3", "2", "1"]


def test_it_waits_apart_while_the_queue_is_paused(retry, queue, dump, client):
    client.set(f"bull:{queue}:meta-paused", "1")
    assert retry() == 0
    assert dump(queue)["paused"] == ["1"]


def test_other_jobs_stay_where_they_are(retry, queue, dump, client):
    client.hset(f"bull:{queue}:2", "data", "{}")
    client.set(f"bull:{queue}:1:lock", "token")
    before = dump(queue)
    assert [retry("9"), retry("2"), retry("1")] == [-1, -3, -6]
    assert dump(queue) == before


def test_it_is_published(retry, queue, client, flavor):
    channel = f"bull:{queue}:{'jobs' if flavor in '12' else 'waiting@token'}"
    with client.pubsub(ignore_subscribe_messages=True) as heard:
        heard.subscribe(channel)
        heard.get_message(timeout=5)
        retry()
        message = heard.get_message(timeout=5) or heard.get_message(timeout=5)
    assert message["data"] == "1"
