"""The bridge and the guard against what programs with Bull add after a move."""

from collections.abc import Iterator

import pytest
from redis import Redis

from bullrush import LegacyQueue, Queue
from tests.interop.conftest import server_of

HOUR = 3_600_000


@pytest.fixture
def old(redis_url: str, queue_name: str) -> Iterator[LegacyQueue]:
    """A queue of Bull 4."""
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as queue:
        yield queue


@pytest.fixture(params=["same server", "another one"])
def new(request: pytest.FixtureRequest, redis_url: str, queue_name: str) -> Iterator[Queue]:
    """The queue to which its jobs move; another database is another server."""
    url = redis_url if request.param == "same server" else f"{server_of(redis_url)}/1"
    with Queue(queue_name, url=url, prefix="moved") as queue:
        yield queue
        queue.obliterate(force=True)


def make_due(redis: Redis, old: LegacyQueue) -> None:
    """Let the job of the repeatable be due now, as if time had passed."""
    [id] = redis.zrange(old.to_key("delayed"), 0, -1)
    redis.zadd(old.to_key("delayed"), {id: 1})


@pytest.mark.parametrize("due", [False, True], ids=["not_due", "due"])
def test_a_repeatable_that_is_a_job_scheduler_already_does_not_run_twice(old, new, due, redis, caplog):
    old.add("tick", {"n": 1}, repeat={"every": HOUR})
    assert old.migrate(new).schedulers == 1
    for n in (2, 3):  # its producer starts again and again
        old.add("tick", {"n": n}, repeat={"every": HOUR})
        if due:
            make_due(redis, old)
        report = old.bridge(new, until="empty", max_seconds=30)
        assert report.moved == {}
        assert [note.state for note in report.notes] == ["repeat"]
        assert "is a job scheduler in the other queue already" in report.notes[0].reason
        assert old.get_repeatables() == [] and not any(old.get_job_counts().values())
        [scheduler] = new.get_job_schedulers()
        assert scheduler["template"]["data"] == {"n": n}
        assert (new.get_delayed_count(), new.get_waiting_count()) == (1, 0)
    assert "the repeatable tick:::3600000 of queue" in caplog.text


def test_a_repeatable_that_has_not_moved_goes_on_in_bull(old, new, redis):
    old.add("moved", repeat={"every": HOUR})
    old.migrate(new)
    old.add("stays", repeat={"every": HOUR})
    make_due(redis, old)
    assert old.bridge(new, until="empty", max_seconds=30).moved == {"delayed": 1}
    assert [one.name for one in old.get_repeatables()] == ["stays"]


def test_a_job_that_stays_is_logged_once_while_the_bridge_runs(old, new, caplog):
    old.add("welcome", job_id="order-7")
    new.add("welcome", job_id="order-7")
    assert old.bridge(new, merge=True, until="empty", max_seconds=30).moved == {}
    said = [record.message for record in caplog.records if "job order-7 of queue" in record.message]
    assert len(said) == 1 and "the other queue has a job with this id" in said[0]
