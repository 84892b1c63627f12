"""What a migration leaves or refuses, and says about it: active jobs, ids in use, broken jobs, wrong arguments."""

import pytest

from bullrush import LegacyQueue, Queue, Worker
from bullrush.base.operation import sleep as operation_sleep
from bullrush.errors import InvalidOptionError, LegacyQueueError
from bullrush.legacy import Progress
from bullrush.legacy.migrating import abandoned
from tests.interop.conftest import server_of
from tests.interop.sides.state import read_state
from tests.waiting import wait_until

from .bull_queue import LATER, add, every_bull, finish_all, flavor_of, keys_of, named_bulls, newest_bull

RENAME = {"taken_ids": "rename"}


@every_bull
def test_an_active_job_of_a_living_worker_is_left(bull, old, new, redis):
    bull.call("work", queue=old.name)
    id = add(bull, old, {"hang": True})
    wait_until(lambda: redis.exists(old.to_key(f"{id}:lock")), "the worker has locked its job")
    waiting = add(bull, old)
    report = old.migrate(new)
    assert report.moved == {"waiting": 1}
    [left] = report.left
    assert (left.id, left.state) == (id, "active")
    assert "a worker of Bull runs it" in left.reason
    assert not old.verify(new).complete
    with pytest.raises(LegacyQueueError, match="active"):
        old.cleanup()
    assert new.get_job(waiting) is not None


@every_bull
def test_an_active_job_of_a_dead_worker_moves_when_they_are_said_to_be_stopped(bull, old, new, redis, monkeypatch):
    for n in range(3):
        add(bull, old, {"n": n})
    for _ in range(2):
        redis.rpoplpush(old.to_key("wait"), old.to_key("active"))  # popped, and the worker died
    report = old.migrate(new)
    assert {left.id for left in report.left} == {"1", "2"}
    assert "legacy_workers_stopped" in report.left[0].reason
    monkeypatch.setitem(abandoned.WAIT, flavor_of(bull), 0.05)
    report = old.migrate(new, legacy_workers_stopped=True)
    assert (report.moved, report.left) == ({"active": 2}, [])
    assert redis.lrange(new.to_key("wait"), 0, -1) == ["3", "2", "1"]
    assert redis.hget(new.to_key("1"), "stc") == "1"


@named_bulls
def test_a_repeatable_whose_worker_died_before_it_made_the_next_job_goes_on(bull, old, new, redis, monkeypatch):
    add(bull, old, {"n": 1}, repeat={"cron": "0 3 * * *"})
    [(pending, _)] = redis.zpopmin(old.to_key("delayed"))
    redis.lpush(old.to_key("active"), pending)
    report = old.migrate(new)
    assert {(left.id, left.state) for left in report.left} == {
        (pending, "active"),
        (old.get_repeatables()[0].key, "repeat"),
    }
    monkeypatch.setitem(abandoned.WAIT, flavor_of(bull), 0.05)
    assert old.migrate(new, legacy_workers_stopped=True).schedulers == 1
    [scheduler] = new.get_job_schedulers()
    assert new.get_job(f"repeat:{scheduler['key']}:{scheduler['next']}").data == {"n": 1}
    assert old.verify(new).complete


@newest_bull
def test_workers_that_are_not_stopped_are_noticed(bull, old, new, redis, monkeypatch):
    monkeypatch.setattr(abandoned, "_LOOK", 0.01)
    id = add(bull, old)
    redis.rpoplpush(old.to_key("wait"), old.to_key("active"))
    lock = old.to_key(f"{id}:lock")
    redis.set(lock, "token", px=5000)

    def renew(seconds: float) -> operation_sleep:
        redis.pexpire(lock, 30_000)
        return operation_sleep(seconds)

    monkeypatch.setattr(abandoned, "sleep", renew)
    with pytest.raises(LegacyQueueError, match="locked again"):
        old.migrate(new, legacy_workers_stopped=True)
    assert not redis.exists(new.to_key("ext:migration"))


@named_bulls
def test_ids_that_the_other_queue_uses_are_not_taken(bull, old, new, redis):
    new.add("theirs", job_id="mine")
    add(bull, old)
    custom = add(bull, old, jobId="mine")
    add(bull, old, jobId="yours")
    with pytest.raises(LegacyQueueError, match="merge=True"):
        old.migrate(new)
    rehearsed = old.migrate(new, merge=True, dry_run=True)
    assert rehearsed.left[0].id == custom
    report = old.migrate(new, merge=True)
    assert (rehearsed.moved, rehearsed.renamed) == (report.moved, report.renamed)
    assert (report.moved, report.renamed) == ({"waiting": 2}, 1)
    assert [(left.id, left.state) for left in report.left] == [(custom, "waiting")]
    assert redis.lrange(new.to_key("wait"), 0, -1) == ["yours", "l-1", "mine"]
    assert new.get_job("mine").name == "theirs"
    redis.delete(new.to_key("mine"))
    redis.lrem(new.to_key("wait"), 0, "mine")
    assert old.migrate(new).moved == {"waiting": 1}


@newest_bull
def test_two_queues_that_become_one_keep_both_their_repeatables(bull, old, new, redis, redis_url):
    with LegacyQueue(f"{old.name}-b", url=redis_url, flavor="4") as other:
        for queue in (old, other):
            queue.add("nightly", {"of": queue.name}, repeat={"every": LATER})
            assert queue.migrate(new, merge=True).schedulers == 1
    assert sorted(one["template"]["data"]["of"] for one in new.get_job_schedulers()) == sorted([old.name, other.name])
    assert new.get_job_counts("delayed") == {"delayed": 2}


@newest_bull
def test_an_id_that_a_producer_took_meanwhile_is_not_lost(bull, old, new, redis):
    for _ in range(2):
        add(bull, old)
    redis.hset(new.to_key("1"), "name", "theirs")
    assert old.migrate(new, dry_run=True).renamed == 1
    report = old.migrate(new)
    assert (report.moved, report.renamed) == ({"waiting": 2}, 1)
    assert redis.lrange(new.to_key("wait"), 0, -1) == ["2", "l-1"]


@newest_bull
def test_broken_jobs_are_moved_as_they_are_and_reported(bull, old, new, redis):
    for _ in range(3):
        add(bull, old, {"n": 1})
    redis.hset(old.to_key("1"), "opts", "{oops")
    redis.hdel(old.to_key("2"), "data")
    redis.delete(old.to_key("3"))
    report = old.migrate(new)
    assert (report.moved, report.left) == ({"waiting": 2}, [])
    notes = {note.id: note.reason for note in report.notes}
    assert "options" in notes["1"]
    assert "no data" in notes["2"]
    assert "no job" in notes["3"]
    assert redis.hget(new.to_key("1"), "opts") == "{oops"
    assert redis.hget(new.to_key("1"), "data") == '{"n":1}'


@every_bull
def test_nothing_is_written_by_a_dry_run(bull, old, new, redis):
    add(bull, old)
    add(bull, old, delay=LATER)
    before = read_state(redis, old.name)
    report = old.migrate(new, dry_run=True)
    assert (report.moved, report.dry_run) == ({"waiting": 1, "delayed": 1}, True)
    assert report.to_json()["complete"]
    assert read_state(redis, old.name) == before


@newest_bull
def test_progress_is_told(bull, old, new):
    for _ in range(3):
        add(bull, old)
    seen = []
    old.migrate(new, on_progress=seen.append)
    assert seen[-1] == Progress(3, 3, "waiting")


@newest_bull
def test_wrong_arguments_are_refused_before_anything_is_written(bull, old, new, redis, redis_url):
    add(bull, old)
    before = read_state(redis, old.name)
    itself = Queue(old.name, url=redis_url, allow_legacy=True)
    for wrong in ({"order": "fifo"}, {"history": -1}, {"default_name": 5}, {"merge": 1}):
        with pytest.raises(InvalidOptionError):
            old.migrate(new, **wrong)
    for to in (itself, "new"):
        with pytest.raises(InvalidOptionError):
            old.migrate(to)
    with (
        LegacyQueue(f"{old.name}-none", url=redis_url) as nothing,
        pytest.raises(LegacyQueueError, match="flavor"),
    ):
        nothing.migrate(new)
    assert read_state(redis, old.name) == before


@newest_bull
def test_a_note_about_many_jobs_is_listed_a_hundred_times(bull, old, new, redis):
    add(bull, old, {}, timeout=500)
    with redis.pipeline() as pipeline:
        for id in range(2, 106):
            pipeline.copy(old.to_key("1"), old.to_key(str(id)))
            pipeline.lpush(old.to_key("wait"), id)
        pipeline.execute()
    report = old.migrate(new)
    assert report.moved == {"waiting": 105}
    assert len(report.notes) == 101
    assert report.notes[-1].id == "5 more"


@newest_bull
def test_nothing_is_left_on_another_server_after_a_dry_run_and_after_cleanup(bull, old, redis_url, databases):
    there = databases[1]
    with Queue(old.name, url=f"{server_of(redis_url)}/1") as elsewhere:
        add(bull, old)
        assert old.migrate(elsewhere, dry_run=True).moved == {"waiting": 1}
        assert there.keys(elsewhere.to_key("*")) == []
        assert old.migrate(elsewhere).moved == {"waiting": 1}
        assert len(there.keys(elsewhere.to_key("ext:*"))) == 2
        old.cleanup(elsewhere)
        assert there.keys(elsewhere.to_key("ext:*")) == []
        assert elsewhere.get_job_count_by_types("waiting") == 1


@newest_bull
def test_a_migration_that_stopped_half_way_goes_on_without_merge(bull, old, new, redis):
    add(bull, old)
    with redis.pipeline() as pipeline:
        for id in range(2, 151):
            pipeline.copy(old.to_key("1"), old.to_key(str(id)))
            pipeline.lpush(old.to_key("wait"), id)
        pipeline.set(old.to_key("id"), 150)
        pipeline.execute()

    def stop(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        old.migrate(new, on_progress=stop)
    assert (redis.llen(new.to_key("wait")), redis.llen(old.to_key("wait"))) == (100, 50)
    assert new.add("theirs").id == "151"
    assert old.migrate(new).moved == {"waiting": 50}
    ran = [str(id) for id in (*range(1, 101), 151, *range(101, 151))]
    assert redis.lrange(new.to_key("wait"), 0, -1)[::-1] == ran


@newest_bull
def test_an_id_that_is_the_name_of_a_key_of_bullmq_gets_a_prefix(bull, old, new, redis, node_fleet):
    """Under its own name the job would stand where the queue has something else, and break the queue."""
    add(bull, old, {"n": 1}, jobId="stalled")
    add(bull, old, {"n": 2}, jobId="pc")
    report = old.migrate(new)
    assert (report.moved, report.renamed, report.left) == ({"waiting": 2}, 2, [])
    assert finish_all(redis, node_fleet.get("bullmq5"), new) == ["l-stalled", "l-pc"]


@newest_bull
def test_an_id_whose_key_is_no_job_is_left_and_the_others_move(bull, old, new, redis):
    for _ in range(3):
        add(bull, old)
    delayed = add(bull, old, delay=LATER)
    for id, place in (("2", "waiting"), (delayed, "delayed")):
        redis.delete(old.to_key(id))
        redis.set(old.to_key(id), "x")
        assert old.get_job(id) is None
        assert id not in [job.id for job in old.get_jobs(place)]
    rehearsed, report = old.migrate(new, dry_run=True), old.migrate(new)
    assert (rehearsed.moved, rehearsed.left) == (report.moved, report.left)
    assert report.moved == {"waiting": 2}
    assert [(left.id, left.state) for left in report.left] == [("2", "waiting"), (delayed, "delayed")]
    assert "its key is a string and no job" in report.left[0].reason
    assert (redis.lrange(old.to_key("wait"), 0, -1), redis.get(old.to_key("2"))) == (["2"], "x")
    assert "a string" in old.verify(new).left[0].reason
    with LegacyQueue(old.name, url=old._url, flavor="4") as bridging:
        assert bridging.bridge(new, until="empty").notes[0].id == "2"


@every_bull
def test_a_dry_run_tells_how_many_finished_jobs_move_and_are_renamed(bull, old, new):
    bull.call("work", queue=old.name)
    for n in range(3):
        add(bull, old, {"n": n})
    wait_until(lambda: old.get_job_counts("completed") == {"completed": 3}, "all jobs have run")
    new.add("theirs")
    rehearsed, report = old.migrate(new, merge=True, history=2, dry_run=True), old.migrate(new, merge=True, history=2)
    assert (rehearsed.moved, rehearsed.renamed) == (report.moved, report.renamed) == ({"completed": 2}, 2)
    assert old.migrate(new, history=2, dry_run=True).moved == {}


@newest_bull
def test_nothing_is_cleaned_while_callers_wait_for_jobs_that_were_moved(bull, old, new, redis, redis_url):
    add(bull, old, {"n": 1})
    old.bridge(new, mirror=True, max_seconds=0.01)
    redis.hset(new.to_key("ext:mirror"), "other", '{"from":"bull:another","id":"1"}')
    before = read_state(redis, old.name)
    with pytest.raises(LegacyQueueError, match="mirror=True until they have ended"):
        old.cleanup(new)
    assert read_state(redis, old.name) == before
    with Worker(new.name, lambda job: "done", url=redis_url, autorun=True):
        assert old.bridge(new, mirror=True, until="empty", max_seconds=20).mirrored == 1
    old.cleanup(new)
    assert keys_of(redis, old) == set()


@named_bulls
@pytest.mark.parametrize("elsewhere", [False, True], ids=["one server", "two servers"])
def test_a_job_whose_id_is_taken_can_get_another_one(elsewhere, bull, old, new, redis, redis_url, databases):
    with Queue(new.name, url=f"{server_of(redis_url)}/1" if elsewhere else redis_url) as to:
        to.add("theirs", job_id="mine")
        to.add("theirs", job_id="l-1")
        number, custom = add(bull, old, {"n": 1}), add(bull, old, {"n": 2}, jobId="mine")
        add(bull, old, {"n": 3}, jobId="late", delay=LATER)
        assert [old.migrate(to, merge=True, dry_run=True, **given).taken for given in ({}, RENAME)] == [2, 2]
        rehearsed = old.migrate(to, merge=True, dry_run=True, **RENAME)
        report = old.migrate(to, merge=True, **RENAME)
        assert (report.moved, report.renamed, report.taken) == ({"waiting": 2, "delayed": 1}, 2, 2)
        assert (rehearsed.moved, rehearsed.renamed) == (report.moved, report.renamed) and report.complete
        assert [to.get_job(f"{old.name}-{id}").data["n"] for id in (number, custom)] == [1, 2]
        assert {to.get_job(id).name for id in ("mine", "l-1")} == {"theirs"} and to.get_job("late").data == {"n": 3}


@newest_bull
def test_a_job_stays_if_its_other_id_is_taken_too(bull, old, new):
    new.add("theirs", job_id="mine")
    new.add("theirs", job_id=f"{old.name}-mine")
    add(bull, old, {"n": 1}, jobId="mine")
    report = old.migrate(new, merge=True, **RENAME)
    assert (report.moved, report.taken, [left.id for left in report.left]) == ({}, 1, ["mine"])
    assert [job.data for job in old.get_jobs("waiting")] == [{"n": 1}]


@newest_bull
def test_a_bridge_gives_other_ids_too_and_callers_get_their_results(bull, old, new, redis_url):
    new.add("theirs", job_id="mine")
    add(bull, old, {"n": 1}, jobId="mine")
    bull.call("wait_for", queue=old.name, job="mine")
    with Worker(new.name, lambda job: job.id, url=redis_url, autorun=True):
        report = old.bridge(new, mirror=True, merge=True, until="empty", **RENAME)
    assert (report.moved, report.taken) == ({"waiting": 1}, 1)
    assert bull.call("outcome", queue=old.name, job="mine") == {"value": f"{old.name}-mine"}


@newest_bull
def test_what_becomes_of_taken_ids_is_one_of_the_known_words(bull, old, new):
    with pytest.raises(InvalidOptionError, match="taken_ids must be one of 'skip', 'rename', not 'drop'"):
        old.migrate(new, taken_ids="drop")
