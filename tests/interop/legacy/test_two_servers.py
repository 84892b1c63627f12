"""A queue of real Bull moves to BullMQ on another server: by claims, since no script can touch both."""

from collections.abc import Iterator

import pytest

from bullrush import Queue
from bullrush.legacy.migrating.abandoned import WAIT
from tests.interop.conftest import server_of
from tests.waiting import wait_until

from .bull_queue import LATER, add, every_bull, keys_of, named_bulls, newest_bull


@pytest.fixture
def new(redis_url: str, queue_name: str, databases) -> Iterator[Queue]:
    """Another database is another server."""
    with Queue(queue_name, url=f"{server_of(redis_url)}/1") as queue:
        yield queue


@every_bull
def test_all_states_move(bull, old, new, redis):
    bull.call("work", queue=old.name)
    for data in ({"n": 7}, {"fail": "no"}):
        add(bull, old, data)
    retried = add(bull, old, {"fail": "not yet"}, attempts=3, backoff=LATER)
    wait_until(
        lambda: (
            old.get_job_counts("completed", "failed", "delayed") == dict.fromkeys(["completed", "failed", "delayed"], 1)
        )
    )
    bull.call("close", queue=old.name)
    order = [add(bull, old, {"n": n}, lifo=n == 2) for n in range(150)]
    order.insert(0, order.pop(2))
    delayed = add(bull, old, {"n": 9}, delay=LATER)
    due = redis.zscore(old.to_key("delayed"), delayed)
    report = old.migrate(new, history=10)
    assert report.moved == {"waiting": 150, "delayed": 2, "completed": 1, "failed": 1}
    assert (report.left, report.renamed) == ([], 0)
    assert [job.id for job in new.get_jobs("wait", asc=True)] == order
    [score] = new.core.commands([["ZSCORE", new.to_key("delayed"), delayed]]).wait()
    assert float(score) == due
    assert (new.get_job("1").returnvalue, new.get_job("2").failed_reason) == ({"worked": 7}, "no")
    assert (new.get_job(retried).attempts_made, new.get_job_state(retried)) == (1, "delayed")
    assert new.add("next").id == str(int(delayed) + 1)
    old.cleanup(new)
    assert keys_of(redis, old) == set()
    assert new.core.commands([["EXISTS", new.to_key("ext:mig"), new.to_key("ext:migration")]]).wait() == [0]


@named_bulls
def test_repeatables_become_job_schedulers(bull, old, new, redis):
    add(bull, old, {"n": 1}, repeat={"cron": "0 0 * * *"})
    [repeatable] = old.get_repeatables()
    report = old.migrate(new)
    assert (report.schedulers, report.left) == (1, [])
    [scheduler] = new.get_job_schedulers()
    assert (scheduler["pattern"], scheduler["next"]) == ("0 0 * * *", repeatable.next)
    assert old.get_repeatables() == []
    assert not redis.exists(old.to_key("delayed"))


@newest_bull
def test_jobs_of_dead_workers_move_when_all_workers_are_stopped(bull, old, new, redis, monkeypatch):
    monkeypatch.setitem(WAIT, "4", 0.01)
    id = add(bull, old, {"n": 1})
    redis.rpoplpush(old.to_key("wait"), old.to_key("active"))
    assert [remark.id for remark in old.migrate(new).left] == [id]
    assert old.migrate(new, legacy_workers_stopped=True).moved == {"active": 1}
    assert new.get_job(id).stalled_counter == 1


@newest_bull
def test_logs_and_priorities_move(bull, old, new):
    ids = [add(bull, old, {}, priority=priority) for priority in (5, 1)]
    bull.call("log", queue=old.name, job=ids[0], row="so far")
    old.migrate(new, order="priority")
    assert new.get_job_logs(ids[0])["logs"] == ["so far"]
    assert [job.id for job in new.get_jobs("prioritized", asc=True)] == ids[::-1]


@newest_bull
def test_an_id_whose_key_is_no_job_is_left_and_the_others_move(bull, old, new, redis):
    for _ in range(3):
        add(bull, old)
    redis.delete(old.to_key("2"))
    redis.set(old.to_key("2"), "x")
    report = old.migrate(new)
    assert report.moved == {"waiting": 2}
    assert [(left.id, left.state) for left in report.left] == [("2", "waiting")]
    assert "its key is a string and no job" in report.left[0].reason
    assert (redis.lrange(old.to_key("wait"), 0, -1), redis.get(old.to_key("2"))) == (["2"], "x")
    assert not redis.exists(old.to_key("ext:claim"))


@newest_bull
def test_a_log_that_is_no_list_does_not_stop_its_batch(bull, old, new, redis):
    for _ in range(2):
        add(bull, old)
    redis.set(old.to_key("1:logs"), "x")
    report = old.migrate(new)
    assert (report.moved, report.left) == ({"waiting": 2}, [])
    assert [(note.id, note.reason) for note in report.notes] == [("1", "its log was not moved: the key is no list")]
    assert not redis.exists(old.to_key("ext:claim"))
