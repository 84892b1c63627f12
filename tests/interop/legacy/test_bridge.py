"""The bridge from queues of real Bull: its producers and callers do not notice that workers of BullMQ do the work."""

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

import bullrush.aio
from bullrush import LegacyQueue, Queue, Worker
from bullrush.errors import LegacyQueueError
from bullrush.legacy import LegacyUse
from bullrush.legacy.bridging import watch
from bullrush.legacy.migrating.movers import source_at
from bullrush.rights import acl_rule, read_roles
from tests.interop.conftest import server_of
from tests.interop.sides.node_process import NodeProcess
from tests.waiting import wait_until

from .bull_queue import BULLS, every_bull, flavor_of, newest_bull

JOBS = int(os.environ.get("BRIDGE_JOBS", "200"))


@pytest.fixture
def elsewhere(redis_url: str, queue_name: str, databases) -> Iterator[Queue]:
    """A queue of BullMQ on another server: another database is one."""
    with Queue(queue_name, url=f"{server_of(redis_url)}/1") as queue:
        yield queue


def handle(job) -> dict:
    if reason := job.data.get("fail"):
        raise ValueError(reason)
    return {"worked": job.data.get("n")}


def count(queue: Queue, *states: str) -> int:
    return sum(queue.get_job_counts(*states).values())


def worker_of(queue: Queue, handler=handle) -> Worker:
    return Worker(queue.name, handler, url=queue.opts["url"], autorun=True)


@every_bull
def test_callers_of_bull_hear_how_their_jobs_end(bull, old, elsewhere, queue_name):
    adds = [({"n": 1}, {}), ({"fail": "no"}, {}), ({"n": 3}, {"delay": 50}), ({"n": 4}, {"removeOnComplete": True})]
    ids = [bull.call("add", queue=queue_name, data=data, opts=opts) for data, opts in adds]
    # Callers of 2.x hear of other processes only every 5 seconds: there they ask afterwards.
    for id in ids[:3] if bull.library != "bull2" else []:
        bull.call("wait_for", queue=queue_name, job=id)
    with worker_of(elsewhere):
        report = old.bridge(elsewhere, mirror=True, until="empty", max_seconds=20)
    ends = [bull.call("outcome", queue=queue_name, job=id) for id in ids[:3]]
    # Bull 1 stores only the stack, whose first line has the class of the error.
    reason = "ValueError: no" if bull.library == "bull1" else "no"
    assert ends == [{"value": {"worked": 1}}, {"failed": reason}, {"value": {"worked": 3}}]
    assert (sum(report.moved.values()), report.mirrored) == (4, 4)
    counts = bull.call("counts", queue=queue_name)
    assert (counts["waiting"], counts["delayed"], counts["failed"]) == (0, 0, 1)
    assert elsewhere.get_job_counts("completed", "failed") == {"completed": 2, "failed": 1}


@every_bull
def test_the_admin_of_both_prefixes_may_bridge_and_mirror(bull, old, redis, redis_url, queue_name):
    role = read_roles()["admin"]
    rights = [*role.needed, *role.useful]
    both = {"prefixes": ["bull", "moved"], "queues": [queue_name], "password": "x"}
    redis.execute_command(*acl_rule(rights, user=queue_name, bull=True, **both).split())
    url = redis_url.replace("//", f"//{queue_name}:x@")
    id = bull.call("add", queue=queue_name, data={"n": 1}, opts={})
    try:
        with (
            LegacyQueue(queue_name, url=url, flavor=flavor_of(bull)) as mine,
            Worker(queue_name, handle, url=redis_url, prefix="moved", autorun=True),
        ):
            mine.add("mine", {"n": 2})
            assert mine.bridge(Queue(queue_name, url=url, prefix="moved"), mirror=True, until="empty").mirrored == 2
        assert redis.hget(f"bull:{queue_name}:{id}", "returnvalue") == '{"worked":1}'
    finally:
        redis.acl_deluser(queue_name)


@pytest.mark.parametrize("library", BULLS)
def test_a_bridge_names_the_programs_with_bull_until_it_is_safe_to_clean_up(library, new, redis_url, monkeypatch):
    monkeypatch.setattr(watch, "EVERY", 0.05)
    monkeypatch.setattr(watch, "QUIET", 0.2)
    uses: list[LegacyUse] = []
    name = new.name.removesuffix("-new")
    bull = NodeProcess(library, server_of(redis_url), program="bull.js")
    bull.call("work", queue=name)
    bull.call("add", queue=name, data={"hang": True})
    with ThreadPoolExecutor(1) as thread, LegacyQueue(name, url=redis_url, flavor=flavor_of(bull)) as old:
        wait_until(lambda: old.get_job_counts("active") == {"active": 1}, "a job runs")
        bridging = thread.submit(old.bridge, new, on_use=uses.append)
        roles = {"bull1": {"listener"}, "bull2": {"listener"}, "bull30": {"listener", "client"}}
        seen = roles.get(library, {"listener", "worker"})
        wait_until(lambda: uses and {client.role for client in uses[-1].clients} >= seen, "the worker is seen")
        assert all(client.address.startswith("127.0.0.1:") for client in uses[-1].clients if client.role == "worker")
        assert uses[-1].left == 1 and not uses[-1].safe_to_clean_up
        bull.kill()
        wait_until(lambda: uses[-1].clients == (), "it has gone")
        assert not uses[-1].safe_to_clean_up
        with Redis.from_url(redis_url) as redis:
            redis.delete(old.to_key("active"))
        wait_until(lambda: uses[-1].safe_to_clean_up, "nothing is left")
        old.close()
        assert bridging.result().use == uses[-1]


@pytest.mark.parametrize(("bull", "where"), [("bull1", "elsewhere"), ("bull4", "new")], indirect=["bull"])
def test_no_job_runs_twice_and_none_is_lost_while_a_worker_of_bull_works_too(request, bull, old, where, queue_name):
    to = request.getfixturevalue(where)
    runs: list[str] = []
    bull.call("produce", queue=queue_name, rate=1_000)
    wait_until(lambda: len(bull.call("produced", queue=queue_name)) >= JOBS // 2, "a backlog")
    with worker_of(to, lambda job: runs.append(job.id)), ThreadPoolExecutor(1) as thread:
        bull.call("work", queue=queue_name)
        wait_until(lambda: bull.call("worked", queue=queue_name), "the worker of Bull works")
        with LegacyQueue(queue_name, url=old.opts["url"]) as first:
            bridging = thread.submit(first.bridge, to)
            wait_until(lambda: runs and len(bull.call("produced", queue=queue_name)) >= JOBS, "all jobs", 120)
        bridging.result()
        added = bull.call("stop_producing", queue=queue_name)
        report = old.bridge(to, until="empty")
        wait_until(lambda: count(to, "waiting", "active") == 0, "all have run")
    wait_until(lambda: bull.call("counts", queue=queue_name)["active"] == 0, "Bull has finished")
    by_bull = [id for id, _ in bull.call("worked", queue=queue_name)]
    assert sorted(by_bull + runs, key=int) == sorted(added, key=int)
    assert by_bull
    assert runs
    assert report.notes == []


@newest_bull
def test_jobs_that_a_killed_bridge_had_claimed_move_at_once_and_once(bull, old, elsewhere, redis, queue_name):
    old.bridge(elsewhere, max_seconds=0.01)
    ids = [bull.call("add", queue=queue_name, data={"n": n}) for n in range(4)]
    at, source = f"bull:{queue_name}:", source_at(old, elsewhere)
    # The bridge was killed after it had claimed all, and added the first two.
    mover = [[place, id, f"1-{int(id):x}-run", 30_000] for place, id in zip(["wait"] * 4, ids, strict=True)]
    old.core.legacy_calls("claim_job", mover).wait()
    for id in ids[:2]:
        job = [part for pair in redis.hgetall(at + id).items() for part in pair]
        tombstone = f"{source} 1-{int(id):x}-run {id}"
        elsewhere.core.legacy_calls(
            "receive_job", [[1795225366409, tombstone, id, "", "wait", "", "", "", 0, *job]]
        ).wait()
    # Its locks have run out, and a worker of Bull looks for stalled jobs when it starts.
    redis.delete(*(f"{at}{id}:lock" for id in ids))
    bull.call("work", queue=queue_name)
    report = old.bridge(elsewhere, until="empty")
    assert report.moved == {"waiting": 4}
    assert [job.id for job in elsewhere.get_jobs("waiting", asc=True)] == ids
    assert bull.call("worked", queue=queue_name) == []
    assert redis.keys(at + "[0-9ae]*") == [at + "ext:moved"]


@newest_bull
def test_an_end_that_a_killed_bridge_did_not_mirror_is_mirrored_by_the_next_one(bull, old, elsewhere, queue_name):
    id = bull.call("add", queue=queue_name, data={"n": 1}, opts={"removeOnComplete": True})
    bull.call("wait_for", queue=queue_name, job=id)
    old.bridge(elsewhere, mirror=True, max_seconds=0.01)
    with worker_of(elsewhere):
        wait_until(lambda: elsewhere.get_job_counts("completed") == {"completed": 1}, "it is kept until it is mirrored")
    elsewhere.trim_events(0)
    assert old.bridge(elsewhere, mirror=True, until="empty").mirrored == 1
    assert bull.call("outcome", queue=queue_name, job=id) == {"value": {"worked": 1}}
    assert elsewhere.get_job_counts("completed") == {"completed": 0}


@newest_bull
def test_the_callers_of_a_job_that_was_removed_by_hand_hear_that(bull, old, elsewhere, queue_name):
    id = bull.call("add", queue=queue_name)
    bull.call("wait_for", queue=queue_name, job=id)
    old.bridge(elsewhere, mirror=True, max_seconds=0.01)
    elsewhere.remove(id)
    old.bridge(elsewhere, mirror=True, until="empty")
    assert "not in queue" in bull.call("outcome", queue=queue_name, job=id)["failed"]


@newest_bull
def test_a_job_whose_id_is_taken_stays_and_is_reported(bull, old, elsewhere, redis, queue_name):
    elsewhere.add("mine", job_id="custom")
    bull.call("add", queue=queue_name, opts={"jobId": "custom"})
    number = bull.call("add", queue=queue_name)
    report = old.bridge(elsewhere, merge=True, max_seconds=0.01)
    assert (report.moved, report.renamed) == ({"waiting": 1}, 1)
    assert [note.id for note in report.notes] == ["custom"]
    assert elsewhere.get_job(f"l-{number}") is not None
    assert redis.lrange(f"bull:{queue_name}:wait", 0, -1) == ["custom"]


@newest_bull
@pytest.mark.parametrize(("order", "kept"), [("keep", 0), ("priority", 9)])
def test_a_bridge_keeps_priorities_if_it_is_asked_to(order, kept, bull, old, new, elsewhere, queue_name):
    for to in (new, elsewhere):
        id = bull.call("add", queue=queue_name, opts={"priority": 9})
        old.bridge(to, until="empty", order=order)
        assert to.get_job(id).priority == kept
        old.forget()


@newest_bull
def test_a_paused_queue_of_bull_is_left_alone(bull, old, elsewhere, queue_name):
    bull.call("pause", queue=queue_name)
    bull.call("add", queue=queue_name)
    report = old.bridge(elsewhere, until="empty", max_seconds=0.05)
    assert (report.moved, report.use.paused, report.use.left) == ({}, True, 1)
    bull.call("resume", queue=queue_name)
    assert old.bridge(elsewhere, until="empty").moved == {"waiting": 1}


@newest_bull
def test_a_bridge_into_a_queue_with_jobs_is_refused_unless_it_merges(bull, old, new, elsewhere, redis, queue_name):
    bull.call("add", queue=queue_name)
    for to in (new, elsewhere):
        to.add("own", {})
        with pytest.raises(LegacyQueueError, match="has jobs: take an empty one, or say merge=True"):
            old.bridge(to, until="empty")
        assert not redis.exists(old.to_key("ext:moved")) and old.get_job_counts("waiting") == {"waiting": 1}
    assert old.bridge(new, merge=True, until="empty").moved == {"waiting": 1}
    assert {job.id for job in new.get_jobs(["waiting"])} == {"1", "l-1"}
    bull.call("add", queue=queue_name)
    assert old.bridge(new, until="empty").moved == {"waiting": 1}  # the signpost leads there


@newest_bull
def test_a_bridge_ends_when_it_is_closed(bull, old, elsewhere, queue_name):
    bull.call("add", queue=queue_name)
    with ThreadPoolExecutor(1) as thread:
        bridging = thread.submit(old.bridge, elsewhere)
        wait_until(lambda: count(elsewhere, "waiting") == 1, "the bridge carries")
        old.close()
        assert bridging.result().moved == {"waiting": 1}


@newest_bull
def test_a_cancelled_bridge_leaves_no_claim(elsewhere, redis, redis_url, queue_name, bull):
    for n in range(200):
        redis.lpush(f"bull:{queue_name}:wait", n + 1)
        redis.hset(f"bull:{queue_name}:{n + 1}", mapping={"name": "welcome", "data": "{}", "opts": '{"timestamp":5}'})

    async def cancel() -> None:
        async with (
            bullrush.aio.LegacyQueue(queue_name, url=redis_url) as old,
            bullrush.aio.Queue(queue_name, url=elsewhere.opts["url"]) as to,
        ):
            bridging = asyncio.create_task(old.bridge(to))
            while not (await to.get_job_counts("wait"))["wait"]:
                pass
            bridging.cancel()
            with pytest.raises(asyncio.CancelledError):
                await bridging

    asyncio.run(cancel())
    assert not redis.exists(f"bull:{queue_name}:ext:claim")
    left = redis.llen(f"bull:{queue_name}:wait")
    assert count(elsewhere, "wait") == 200 - left


@pytest.mark.parametrize("bull", ["bull30", "bull4"], indirect=True)
def test_repeatable_jobs_go_on(bull, old, elsewhere, redis, queue_name):
    bull.call("add", queue=queue_name, data={"n": 1}, opts={"repeat": {"cron": "* * * * * *"}})
    with ThreadPoolExecutor(1) as thread:
        bridging = thread.submit(old.bridge, elsewhere)
        try:
            wait_until(lambda: count(elsewhere, "delayed") >= 2, "two jobs of it")
        finally:
            old.close()
        assert bridging.result().moved == {"delayed": count(elsewhere, "delayed")}
    first, second = elsewhere.get_jobs("delayed", asc=True)[:2]
    assert int(second.id.rpartition(":")[2]) - int(first.id.rpartition(":")[2]) >= 1000
    assert first.data == second.data == {"n": 1}
    [pending] = redis.zrange(f"bull:{queue_name}:delayed", 0, -1)
    bull.call("work", queue=queue_name)
    wait_until(lambda: pending in [id for id, _ in bull.call("worked", queue=queue_name)], "Bull works the next one")
    wait_until(lambda: redis.zrange(f"bull:{queue_name}:delayed", 0, -1) not in ([], [pending]), "and adds another")
