"""A paused queue of real Bull: its jobs do not begin to run because they have moved."""

import pytest

from bullrush import LegacyQueue, Queue
from bullrush.errors import OutcomeUnknownError
from bullrush.legacy.migrating import calls

from .bull_queue import add, every_bull, newest_bull

NOTE = "the queue of Bull is paused, the new one is not: 2 jobs will run at once"


def notes_of(report) -> list[str]:
    return [note.reason for note in report.notes]


@pytest.fixture(params=["here", "elsewhere"])
def to(request, new, redis_url, queue_name, databases):
    """A queue on the same server, then one on another: another database is one."""
    url = redis_url if request.param == "here" else f"{redis_url.rpartition('/')[0]}/1"
    with Queue(new.name, url=url) as queue:
        yield queue


@every_bull
def test_a_bridge_that_ran_before_does_not_let_paused_jobs_run(bull, old, to):
    bull.call("pause", queue=old.name)
    add(bull, old)
    assert old.bridge(to, max_seconds=0.05).moved == {}
    assert "will be paused" in notes_of(old.migrate(to, dry_run=True))[0] and not to.is_paused()
    assert sum(old.migrate(to).moved.values()) == 1
    assert to.is_paused()


@newest_bull
def test_a_queue_that_was_paused_after_a_bridge_had_moved_jobs_pauses_the_other_one(bull, old, to):
    add(bull, old)
    old.bridge(to, until="empty")
    bull.call("pause", queue=old.name)
    add(bull, old)
    old.migrate(to)
    assert to.is_paused()


@newest_bull
def test_who_has_resumed_the_new_queue_is_told_that_jobs_run_at_once(bull, old, to):
    bull.call("pause", queue=old.name)
    add(bull, old)
    old.migrate(to)
    to.resume()
    add(bull, old)
    add(bull, old)
    assert notes_of(old.migrate(to, dry_run=True)) == [NOTE]
    assert notes_of(old.migrate(to)) == [NOTE]
    assert not to.is_paused()


@newest_bull
def test_a_new_queue_that_was_restored_without_what_it_knew_is_paused_once_more(bull, old, new, redis):
    bull.call("pause", queue=old.name)
    old.migrate(new)
    new.resume()
    redis.hdel(new.to_key("ext:migration"), f"bull:{old.name} paused")
    for paused in (True, False):
        old.migrate(new)
        assert new.is_paused() is paused
        new.resume()


@newest_bull
@pytest.mark.parametrize("seen_by", ["migrate", "bridge"])
def test_the_next_pause_of_bull_is_a_new_one(bull, old, new, seen_by):
    bull.call("pause", queue=old.name)
    add(bull, old)
    old.migrate(new)
    new.resume()
    bull.call("resume", queue=old.name)
    old.migrate(new) if seen_by == "migrate" else old.bridge(new, max_seconds=0.01)
    bull.call("pause", queue=old.name)
    add(bull, old)
    old.migrate(new)
    assert new.is_paused()


@newest_bull
def test_a_dry_run_with_merge_says_that_it_would_stop_a_live_queue(bull, old, new):
    new.add("live", {})
    new.add("live", {})
    bull.call("pause", queue=old.name)
    add(bull, old)
    [note] = notes_of(old.migrate(new, merge=True, dry_run=True))
    assert note.endswith("before the first job comes, so the 2 jobs that wait there will stop, too")


@newest_bull
def test_a_move_that_is_killed_before_its_signpost_has_paused_the_new_queue(bull, old, new, monkeypatch):
    async def killed(*_: object) -> None:
        raise OutcomeUnknownError("killed")

    bull.call("pause", queue=old.name)
    add(bull, old)
    monkeypatch.setattr(calls, "leave_signpost", killed)
    with pytest.raises(OutcomeUnknownError):
        old.migrate(new)
    assert new.is_paused()


@newest_bull
def test_what_a_killed_bridge_has_claimed_waits_until_bull_is_resumed(bull, old, redis_url, redis):
    with Queue(old.name, url=f"{redis_url.rpartition('/')[0]}/1") as to, LegacyQueue(old.name, url=redis_url) as again:
        old.bridge(to, max_seconds=0.01)
        id = add(bull, old)
        old.core.legacy_calls("claim_job", [["wait", id, "1-1-run", 30_000]]).wait()
        bull.call("pause", queue=old.name)
        assert again.bridge(to, until="empty", max_seconds=0.2).moved == {}
        assert redis.hkeys(old.to_key("ext:claim")) == [id]
        bull.call("resume", queue=old.name)
        assert again.bridge(to, until="empty").moved == {"waiting": 1}
