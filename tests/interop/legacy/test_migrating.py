"""A queue of real Bull moves to BullMQ: nothing is lost, nothing changes, and real BullMQ finishes all."""

import asyncio
from typing import Any

from bullrush import Queue, Worker, aio, cli
from bullrush.legacy import bull_backoff
from tests.interop.sides.state import differences, read_state
from tests.interop.sides.their_queue import TheirQueue
from tests.waiting import wait_until

from .bull_queue import LATER, add, every_bull, finish_all, keys_of, named_bulls, newest_bull


@every_bull
def test_waiting_jobs_run_in_their_order(bull, old, new, redis, node_fleet):
    before = [add(bull, old, {"n": n}, lifo=n == 3) for n in range(5)]
    order = redis.lrange(old.to_key("wait"), 0, -1)[::-1]
    raw = {id: redis.hget(old.to_key(id), "data") for id in before}
    report = old.migrate(new)
    assert (report.moved, report.left, report.notes) == ({"waiting": 5}, [], [])
    assert {id: redis.hget(new.to_key(id), "data") for id in before} == raw
    assert new.add("next").id == "6"
    assert finish_all(redis, node_fleet.get("bullmq5"), new) == [*order, "6"]
    assert new.get_job_counts("completed") == {"completed": 6}
    assert old.cleanup(new) > 0
    assert keys_of(redis, old) == set()
    assert not redis.exists(new.to_key("ext:migration"))


@every_bull
def test_a_moved_job_is_a_job_of_bullmq(bull, old, new, redis, node_fleet):
    """The keys are those of a job that BullMQ added itself; only options that mean nothing to it are missing."""
    opts = {"attempts": 3, "backoff": {"type": "exponential", "delay": 500}, "removeOnComplete": True}
    add(bull, old, {"n": 1}, **opts)
    add(bull, old, {"n": 2}, delay=LATER, **opts)
    jobs = [old.get_job(id) for id in ("1", "2")]
    old.migrate(new, default_name="welcome")
    theirs = TheirQueue(node_fleet.get("bullmq5"), f"{old.name}-like")
    for job in jobs:
        theirs.add("welcome", job.data, **opts, timestamp=job.timestamp, delay=job.delay)
    actual, expected = (view(read_state(redis, name)) for name in (new.name, f"{old.name}-like"))
    assert list(differences(expected, actual)) == []


def view(state: dict[str, Any]) -> dict[str, Any]:
    """Return what has to be equal."""
    for entry in state.values():
        if entry["type"] == "hash" and "opts" in entry["value"]:
            for dropped in ("delay", "timestamp"):
                entry["value"]["opts"].pop(dropped, None)
    state["delayed"]["value"] = {id: int(score) // 4096 for id, score in state["delayed"]["value"].items()}
    state["marker"]["value"] = {member: int(score) for member, score in state["marker"]["value"].items()}
    return {key: entry for key, entry in state.items() if key != "ext:migration"}


@newest_bull
def test_a_job_with_a_priority_is_one_of_bullmq(bull, old, new, redis, node_fleet):
    for priority in (5, 2, 5):
        add(bull, old, {}, priority=priority, lifo=True, removeOnFail=3)
    jobs = [old.get_job(id) for id in ("2", "1", "3")]  # in the order in which Bull would run them
    old.migrate(new, default_name="welcome", order="priority")
    theirs = TheirQueue(node_fleet.get("bullmq5"), f"{old.name}-like")
    for job in jobs:
        theirs.add("welcome", {}, priority=job.priority, lifo=True, removeOnFail=3, attempts=1)
    actual, expected = (read_state(redis, name) for name in (new.name, f"{old.name}-like"))
    assert actual["2"]["value"]["opts"] == expected["1"]["value"]["opts"]
    assert actual["2"]["value"]["priority"] == expected["1"]["value"]["priority"] == "2"
    assert list(actual["prioritized"]["value"].values()) == list(expected["prioritized"]["value"].values())
    assert list(actual["prioritized"]["value"]) == ["2", "1", "3"]


@every_bull
def test_a_job_that_has_failed_has_the_fields_that_bullmq_would_have_written(bull, old, new, redis, node_fleet):
    bull.call("work", queue=old.name)
    add(bull, old, {"fail": "no"}, attempts=3, backoff=LATER)
    add(bull, old, {"fail": "no"})
    wait_until(lambda: old.get_job_counts("failed", "delayed") == {"failed": 1, "delayed": 1}, "both have failed")
    bull.call("close", queue=old.name)
    old.migrate(new, history=1)
    theirs = TheirQueue(node_fleet.get("bullmq5"), f"{old.name}-like")
    theirs.add("welcome", {"runs": [[["throw", "no"]]]}, attempts=3, backoff=LATER)
    theirs.add("welcome", {"runs": [[["throw", "no"]]]})
    theirs.work()
    for id in ("1", "2"):
        ours, expected = redis.hgetall(new.to_key(id)), redis.hgetall(f"bull:{old.name}-like:{id}")
        timed = {"processedOn"} if bull.library in ("bull1", "bull2") else set()
        assert ours.keys() | timed == expected.keys()
        for field in ("atm", "ats", "priority", "failedReason"):
            assert ours[field] == expected[field]


@every_bull
def test_all_states_move_and_everything_is_worked(bull, old, new, redis, node_fleet):
    bull.call("work", queue=old.name)
    add(bull, old, {"n": 7})
    add(bull, old, {"fail": "no"})
    retried = add(bull, old, {"fail": "not yet"}, attempts=3, backoff=LATER)
    wait_until(lambda: old.get_job_counts()["completed"] == 1 and old.get_job_counts()["failed"] == 1, "two finished")
    wait_until(lambda: old.get_job_counts()["delayed"] == 1, "one is retried later")
    bull.call("close", queue=old.name)
    bull.call("pause", queue=old.name)
    waiting = add(bull, old, {"n": 8})
    delayed = add(bull, old, {"n": 9}, delay=LATER)
    report = old.migrate(new, history=10)
    assert report.moved == {"paused": 1, "delayed": 2, "completed": 1, "failed": 1}
    assert (report.left, report.after) == ([], dict.fromkeys(report.after, 0))
    assert new.is_paused()
    jobs = {id: new.get_job(id) for id in ("1", "2", retried, waiting, delayed)}
    assert (jobs["1"].returnvalue, jobs["1"].attempts_made) == ({"worked": 7}, 1)
    assert (jobs["2"].failed_reason, jobs["2"].attempts_made) == ("no", 1)
    assert (jobs[retried].attempts_made, jobs[retried].opts["attempts"]) == (1, 3)
    assert len(jobs[retried].stacktrace) == 1
    assert {new.get_job_state(id) for id in (retried, delayed)} == {"delayed"}
    assert not redis.hexists(new.to_key(retried), "attemptsMade")
    new.resume()
    assert finish_all(redis, node_fleet.get("bullmq5"), new) == [waiting]
    assert old.verify(new).complete
    old.cleanup()
    assert keys_of(redis, old) == set()


@named_bulls
def test_a_repeatable_becomes_a_job_scheduler(bull, old, new, redis, node_fleet):
    """Its next job, its data and its options are the same, and BullMQ goes on with it."""
    add(bull, old, {"n": 1}, repeat={"cron": "0 3 * * *", "tz": "Europe/Paris", "limit": 9}, attempts=3)
    add(bull, old, {"n": 2}, repeat={"cron": "*/5 * * * *"})
    before = {one.pattern: one for one in old.get_repeatables()}
    for report in (old.migrate(new, dry_run=True), old.migrate(new)):
        assert (report.schedulers, report.moved, report.left) == (2, {}, [])
    schedulers = {one["pattern"]: one for one in new.get_job_schedulers()}
    assert {pattern: one["next"] for pattern, one in schedulers.items()} == {
        pattern: one.next for pattern, one in before.items()
    }
    nightly = schedulers["0 3 * * *"]
    assert (nightly["tz"], nightly["limit"], nightly["iteration_count"]) == ("Europe/Paris", 9, 1)
    assert nightly["template"] == {"data": {"n": 1}, "opts": {"attempts": 3}}
    assert new.get_job_counts("delayed") == {"delayed": 2}
    theirs = TheirQueue(node_fleet.get("bullmq5"), new.name)
    for one in schedulers.values():
        theirs.on_job(f"repeat:{one['key']}:{one['next']}", "promote")
    theirs.work()
    after = {one["pattern"]: one["next"] for one in new.get_job_schedulers()}
    assert all(after[pattern] > one.next for pattern, one in before.items())
    assert new.get_job_counts("completed", "delayed") == {"completed": 2, "delayed": 2}
    assert old.cleanup(new) > 0
    assert keys_of(redis, old) == set()


@newest_bull
def test_a_moved_repeatable_is_a_scheduler_of_bullmq(bull, old, new, redis, node_fleet):
    """The keys are those of a scheduler that BullMQ made itself."""
    add(bull, old, {"n": 1}, repeat={"cron": "0 3 * * *", "tz": "UTC", "limit": 9}, attempts=3)
    old.migrate(new)
    theirs = TheirQueue(node_fleet.get("bullmq5"), f"{old.name}-like")
    [ours] = new.get_job_schedulers()
    template = {"name": "welcome", "data": {"n": 1}, "opts": {"attempts": 3}}
    theirs.call("upsertJobScheduler", ours["key"], {"pattern": "0 3 * * *", "tz": "UTC", "limit": 9}, template)
    actual, expected = (read_state(redis, name) for name in (new.name, f"{old.name}-like"))
    for state in (actual, expected):
        state.pop("ext:migration", None)
        state.pop("id")  # goes on where Bull's counter was
        state["delayed"]["value"] = {id: int(score) // 4096 for id, score in state["delayed"]["value"].items()}
        for member in ("timestamp", "delay"):
            job = state[f"repeat:{ours['key']}:{ours['next']}"]["value"]
            job.pop(member)
            job["opts"].pop(member)
    assert list(differences(expected, actual)) == []


@newest_bull
def test_an_interval_keeps_its_phase(bull, old, new):
    add(bull, old, {}, repeat={"every": 90_000})
    [before] = old.get_repeatables()
    old.migrate(new)
    [after] = new.get_job_schedulers()
    assert (after["next"], after["every"], after["offset"]) == (before.next, 90_000, before.next % 90_000)


@newest_bull
def test_a_repeatable_whose_job_waits_runs_in_its_turn(bull, old, new, redis, node_fleet):
    add(bull, old, {"n": 1})
    add(bull, old, {"n": 2}, repeat={"every": LATER})
    [pending] = redis.zrange(old.to_key("delayed"), 0, -1)
    redis.zrem(old.to_key("delayed"), pending)
    redis.lpush(old.to_key("wait"), pending)  # as if it were due
    add(bull, old, {"n": 3})
    old.migrate(new)
    [scheduler] = new.get_job_schedulers()
    scheduled = f"repeat:{scheduler['key']}:{scheduler['next']}"
    # Its time has not come, so it is delayed; the others run in their order.
    assert new.get_job_state(scheduled) == "delayed"
    assert redis.lrange(new.to_key("wait"), 0, -1) == ["3", "1"]


@every_bull
def test_priorities_of_bull_keep_their_order_or_become_those_of_bullmq(bull, old, new, redis, node_fleet):
    for priority in (3, None, 1, 2):
        opts = {"priority": priority} if priority and bull.library != "bull1" else {}
        add(bull, old, {"n": priority}, **opts)
    order = redis.lrange(old.to_key("wait"), 0, -1)[::-1]
    theirs = {id: redis.hgetall(old.to_key(id)) for id in order}
    old.migrate(new)
    assert redis.lrange(new.to_key("wait"), 0, -1)[::-1] == order
    with Queue(f"{new.name}-2", url=new.opts["url"]) as other:
        redis.delete(new.to_key("wait"))
        for id in order:
            redis.hset(old.to_key(id), mapping=theirs[id])
            redis.lpush(old.to_key("wait"), id)
        old.forget()
        old.migrate(other, order="priority")
        ran = finish_all(redis, node_fleet.get("bullmq5"), other)
    assert ran == (order if bull.library == "bull1" else ["2", "3", "4", "1"])


@newest_bull
def test_delayed_jobs_and_repeatables_keep_their_priority(bull, old, new, redis, node_fleet):
    delayed = add(bull, old, {"n": 1}, delay=LATER, priority=5)
    add(bull, old, {"n": 2}, repeat={"every": LATER}, priority=3)
    waiting = add(bull, old, {"n": 3}, priority=1)
    old.migrate(new)
    [scheduler] = new.get_job_schedulers()
    pending = f"repeat:{scheduler['key']}:{scheduler['next']}"
    assert scheduler["template"]["opts"]["priority"] == 3
    assert [new.get_job(id).priority for id in (delayed, pending, waiting)] == [5, 3, 0]
    theirs = TheirQueue(node_fleet.get("bullmq5"), new.name)
    for id in (delayed, pending):
        theirs.on_job(id, "promote")
    assert finish_all(redis, node_fleet.get("bullmq5"), new) == [waiting, pending, delayed]


@every_bull
def test_only_the_newest_of_the_history_moves_also_by_a_second_run(bull, old, new, redis):
    bull.call("work", queue=old.name)
    for n in range(4):
        add(bull, old, {"n": n})
        wait_until(lambda done=n + 1: old.get_job_counts("completed")["completed"] == done, "it is completed")
    report = old.migrate(new, history=2)
    assert report.moved == {"completed": 2}
    assert old.migrate(new, history=2).moved == {}
    assert redis.zrange(new.to_key("completed"), 0, -1) == ["3", "4"]
    assert old.get_job_counts("completed") == {"completed": 2}
    assert old.verify(new).complete


@newest_bull
def test_backoff_keeps_the_delays_of_bull(bull, old, new, redis_url):
    add(bull, old, {}, attempts=4, backoff={"type": "exponential", "delay": 7000})
    old.migrate(new, keep_backoff=True)
    delays = []
    with Worker(new.name, failing, url=redis_url, backoff_strategy=bull_backoff) as worker:
        for _ in range(3):
            worker.run(max_jobs=1)
            delays.append(new.get_job("1").delay)
            new.get_job("1").promote()
    assert delays == [7000, 21_000, 49_000]


@newest_bull
def test_a_worker_without_the_delays_of_bull_says_which_option_it_needs(bull, old, new, redis_url):
    add(bull, old, {}, attempts=4, backoff={"type": "exponential", "delay": 7000})
    old.migrate(new, keep_backoff=True)
    with Worker(new.name, failing, url=redis_url) as worker:
        worker.run(max_jobs=1)
    assert "Worker(backoff_strategy=bullrush.legacy.bull_backoff)" in new.get_job("1").failed_reason


@named_bulls
def test_a_dry_run_counts_the_jobs_that_behave_otherwise_than_in_bull(bull, old, new, capsys):
    add(bull, old, {}, attempts=1, backoff={"type": "exponential", "delay": 7000})  # never retried
    add(bull, old, {}, attempts=4, backoff={"type": "fixed", "delay": 7000})
    for priority in (1, 2):
        add(bull, old, {}, priority=priority, attempts=4, backoff={"type": "exponential", "delay": 7000})
    add(bull, old, {}, priority=1, delay=LATER)

    def differences(**options: Any) -> dict[str, int]:
        return old.migrate(new, dry_run=True, **options).differences

    assert differences() == {"priority": 2, "backoff": 2}
    assert differences(order="priority", keep_backoff=True) == {"strategy": 2}
    words = ["migrate", old.name, "--to-name", new.name, "--url", old._url, "--dry-run"]
    assert cli.main(words) == 0
    out = capsys.readouterr().out
    assert "2 jobs: the priority would be forgotten" in out and "2 jobs: exponential back-off would wait 1, 2" in out
    assert cli.main([*words, "--keep-backoff"]) == 0
    assert "option backoff_strategy=bullrush.legacy.bull_backoff" in capsys.readouterr().out


def failing(job: Any) -> None:
    raise ValueError("no")


@newest_bull
def test_two_migrators_move_each_job_once_beside_workers_of_bull(bull, old, new, redis, redis_url):
    bull.call("produce", queue=old.name, rate=200)
    wait_until(lambda: len(bull.call("produced", queue=old.name)) > 50, "there are jobs")
    bull.call("work", queue=old.name)

    async def both() -> None:
        async with (
            aio.LegacyQueue(old.name, url=redis_url, flavor="4") as legacy,
            aio.Queue(new.name, url=redis_url) as target,
        ):
            await asyncio.gather(*(legacy.migrate(target) for _ in range(2)))

    asyncio.run(both())
    added = bull.call("stop_producing", queue=old.name)
    bull.call("close", queue=old.name)
    old.migrate(new)
    here = {*redis.lrange(new.to_key("wait"), 0, -1)}
    there = {*redis.zrange(old.to_key("completed"), 0, -1), *redis.lrange(old.to_key("active"), 0, -1)}
    assert not here & there
    assert here | there == set(added)
    assert redis.llen(new.to_key("wait")) == len(here)
