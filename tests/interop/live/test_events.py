"""Node's QueueEvents gets our events with the same fields as those of Node, and ours gets the events of Node."""

import pytest

from bullrush import QueueEvents, QueueEventsProducer
from tests.waiting import wait_until

from .our_worker import our_worker, work_off


def names(heard):
    return [name for name, _ in heard]


def of_job(heard, id):
    """The events of one job; version 6 returns the delay as a number, 5.62.0 as text."""
    mine = [(name, fields) for name, fields in heard if fields.get("jobId") == id]
    return [(name, {**fields, "delay": int(fields["delay"])} if "delay" in fields else fields) for name, fields in mine]


def test_the_life_of_a_job_that_succeeds(ours, theirs, queue_name, redis_url):
    with theirs.listening() as heard:
        job = ours.add("work", {"runs": [[["progress", 50], ["progress", {"pct": 75}], ["return", {"ok": "☃"}]]]})
        work_off(queue_name, redis_url)
        wait_until(lambda: "drained" in names(heard()))
        assert of_job(heard(), job.id) == [
            ("added", {"jobId": "1", "name": "work"}),
            ("waiting", {"jobId": "1"}),
            ("active", {"jobId": "1", "prev": "waiting"}),
            ("progress", {"jobId": "1", "data": 50}),
            ("progress", {"jobId": "1", "data": {"pct": 75}}),
            ("completed", {"jobId": "1", "returnvalue": {"ok": "☃"}, "prev": "active"}),
        ]
        assert names(heard()).count("drained") == 1


def test_the_life_of_a_job_that_fails_and_is_retried(ours, theirs, queue_name, redis_url, redis):
    with theirs.listening() as heard:
        data = {"runs": [[["throw", "one"]], [["throw", "two"]], [["throw", "three"]]]}
        job = ours.add("work", data, attempts=3, backoff={"type": "exponential", "delay": 60_000})
        work_off(queue_name, redis_url)
        first_due = int(redis.zscore(f"bull:{queue_name}:delayed", job.id) // 4096)
        job.promote()
        work_off(queue_name, redis_url)
        second_due = int(redis.zscore(f"bull:{queue_name}:delayed", job.id) // 4096)
        job.promote()
        work_off(queue_name, redis_url)
        wait_until(lambda: "retries-exhausted" in names(heard()))
        assert of_job(heard(), job.id)[2:] == [
            ("active", {"jobId": "1", "prev": "waiting"}),
            ("delayed", {"jobId": "1", "delay": first_due}),
            ("waiting", {"jobId": "1", "prev": "delayed"}),
            ("active", {"jobId": "1", "prev": "waiting"}),
            ("delayed", {"jobId": "1", "delay": second_due}),
            ("waiting", {"jobId": "1", "prev": "delayed"}),
            ("active", {"jobId": "1", "prev": "waiting"}),
            ("failed", {"jobId": "1", "failedReason": "three", "prev": "active"}),
            ("retries-exhausted", {"jobId": "1", "attemptsMade": "3"}),
        ]


def test_what_happens_to_the_queue(ours, theirs):
    with theirs.listening() as heard:
        ours.pause()
        ours.resume()
        ours.add("work", {}, job_id="mine", delay=60_000)
        ours.add("work", {}, job_id="mine")
        ours.remove("mine")
        wait_until(lambda: "removed" in names(heard()))
        assert names(heard()) == ["paused", "resumed", "added", "delayed", "duplicated", "removed"]
        assert heard()[-2:] == [
            ["duplicated", {"jobId": "mine"}],
            ["removed", {"jobId": "mine", "prev": "delayed"}],
        ]


def test_a_job_that_goes_back(ours, theirs, queue_name, redis_url):
    with theirs.listening() as heard:
        job = ours.add("work", {"runs": [[["throw", "boom"]], [["wait"]], [["return", 1]]]}, attempts=2)
        work_off(queue_name, redis_url)
        job.retry("completed")
        wait_until(lambda: names(heard()).count("waiting") == 4)
        waiting = [fields for name, fields in heard() if name == "waiting"]
        assert waiting == [
            {"jobId": "1"},
            {"jobId": "1", "prev": "active"},
            {"jobId": "1", "prev": "active"},
            {"jobId": "1", "prev": "completed"},
        ]


def test_node_waits_for_the_end_of_a_job_that_we_work(theirs, queue_name, redis_url):
    with theirs.listening(), our_worker(queue_name, redis_url):
        good = theirs.add("work", {"runs": [[["return", {"answer": 42}]]]})
        bad = theirs.add("work", {"runs": [[["throw", "boom"]]]})
        assert theirs.wait_until_finished(good) == {"answer": 42}
        assert theirs.wait_until_finished(bad) == {"failed": "boom"}


def test_we_wait_for_the_end_of_a_job_that_node_works(ours, theirs):
    with theirs.worker():
        assert ours.add("work", {"answer": 42}).wait_until_finished(timeout=10_000) == {"answer": 42}


@pytest.fixture
def events(queue_name, redis_url):
    with QueueEvents(queue_name, url=redis_url) as events:
        events.wait_until_ready()
        yield events


def test_we_hear_the_life_of_a_job_that_node_works(theirs, events):
    with theirs.worker():
        id = theirs.add("work", {"runs": [[["progress", {"pct": 75}], ["return", {"ok": "☃"}]]]}, delay=50)
        heard = []
        for event in events.iterate(timeout=10_000):
            heard.append(event)
            if event.event == "drained":
                break
    of_job = [(event.event, event.get("prev")) for event in heard if event.job_id == id]
    assert of_job == [
        ("added", None),
        ("delayed", None),
        ("waiting", "delayed"),
        ("active", "waiting"),
        ("progress", None),
        ("completed", "active"),
    ]
    by_name = {event.event: event for event in heard}
    assert by_name["completed"].returnvalue == {"ok": "☃"}
    assert isinstance(by_name["delayed"].delay, int)


def test_we_wait_for_a_job_that_node_works_and_removes(ours, theirs, events):
    job = ours.add("work", {"answer": 42}, remove_on_complete=True)
    with theirs.worker():
        assert job.wait_until_finished(events, timeout=10_000) == {"answer": 42}


def test_node_hears_an_event_of_our_own(theirs, queue_name, redis_url):
    with theirs.listening() as heard, QueueEventsProducer(queue_name, url=redis_url) as producer:
        producer.publish_event("paid", jobId="7", amount=12.5, tags=["a"])
        wait_until(heard)
        assert heard() == [["paid", {"jobId": "7", "amount": "12.5", "tags": '["a"]'}]]


def test_we_hear_an_event_of_nodes_own(theirs, events):
    theirs.publish_event({"eventName": "paid", "jobId": "7", "amount": 12.5, "customer": "Ada"})
    event = next(iter(events))
    assert dict(event) == {"event": "paid", "jobId": "7", "amount": "12.5", "customer": "Ada"}


def test_a_published_event_looks_the_same_in_redis(theirs, queue_name, redis_url, redis):
    fields = {"customer": "Ada", "amount": 12.5, "count": 3}
    theirs.publish_event({"eventName": "paid", **fields})
    with QueueEventsProducer(queue_name, url=redis_url) as producer:
        producer.publish_event("paid", **fields)
    (_, from_node), (_, from_us) = redis.xrange(f"bull:{queue_name}:events")
    assert from_us == from_node
