"""Bad input is refused as by BullMQ 5.62.0, with the same text if BullMQ has one, and nothing is written."""

import pytest

from bullrush import Queue, errors

from .node_side import NodeSide
from .queue_side import QueueSide

SAME_WORDS = {
    "an integer as an id": {"jobId": "12"},
    "a negative integer as an id": {"jobId": "-3"},
    "a colon in an id": {"jobId": "a:b"},
    "too many colons in an id": {"jobId": "a:b:c:d"},
    "a fractional priority": {"priority": 1.5},
    "a priority above the maximum": {"priority": 2_097_153},
    "data above its limit": {"sizeLimit": 3},
    "a jitter above one": {"backoff": {"type": "fixed", "delay": 1, "jitter": 2}},
    "a negative jitter": {"backoff": {"type": "fixed", "delay": 1, "jitter": -0.1}},
}


@pytest.fixture
def sides(node, redis_url, queue_name):
    """Real BullMQ and bullrush on one queue of one database: nothing may be written by either."""
    theirs, ours = NodeSide(node, 0, "bull", queue_name, words=True), QueueSide(redis_url, queue_name)
    theirs.prepare()
    yield theirs, ours
    node.call("close", stem=queue_name)


@pytest.mark.parametrize("opts", SAME_WORDS.values(), ids=SAME_WORDS.keys())
def test_bad_options_are_refused_in_the_same_words(sides, redis, queue_name, opts):
    theirs, ours = (side.add("work", {"n": 1}, **opts) for side in sides)
    assert theirs.message
    assert ours.message.startswith(theirs.message)
    assert [*redis.scan_iter(f"bull:{queue_name}*")] == [f"bull:{queue_name}:meta"]


def test_one_bad_job_refuses_the_whole_bulk(sides, redis, queue_name):
    jobs = [{"name": "good", "data": 1}, {"name": "bad", "data": 1, "opts": {"jobId": "12"}}]
    theirs, ours = (side.add_bulk(jobs) for side in sides)
    assert ours.message.startswith(theirs.message)
    assert [*redis.scan_iter(f"bull:{queue_name}*")] == [f"bull:{queue_name}:meta"]


@pytest.mark.parametrize("id", ["wait", "meta", "completed", "marker", "events", "id", "0", "0:1"])
def test_an_id_that_would_break_the_queue_is_refused_by_us_alone(redis_url, queue_name, redis, id):
    queue = Queue(queue_name, url=redis_url)
    with pytest.raises(errors.InvalidOptionError):
        queue.add("work", {}, job_id=id)
    assert not list(redis.scan_iter(f"bull:{queue_name}:*"))


@pytest.mark.parametrize("name", ["", "a:b"])
def test_a_bad_queue_name_is_refused_in_the_same_words(node, redis_url, name):
    with pytest.raises(Exception, match="Queue name") as theirs:
        node.call("queue", at={"db": 0, "prefix": "bull", "queue": name}, method="count", args=[])
    with pytest.raises(errors.QueueNameError) as ours:
        Queue(name, url=redis_url)
    assert str(ours.value).startswith(str(theirs.value))
