"""A slot moves to another node while it is used: no call fails half-way, and none fails at all."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from redis import Redis
from redis.crc import key_slot
from redis.exceptions import AskError, TryAgainError

from bullrush import FlowProducer, Queue, QueueEvents, errors
from bullrush.scripts import read_scripts
from tests.faults.handlers import Handlers
from tests.servers.cluster import Migration
from tests.waiting import wait_until

TCP = Path("/proc/net/tcp")


def other_master(cluster, key):
    owner = cluster.owner(key)
    return next(node for node in cluster.masters() if node is not owner)


@pytest.mark.parametrize("moved", [True, False], ids=["meta-has-moved", "meta-has-not-moved"])
def test_no_script_starts_on_either_node_while_its_slot_migrates(cluster, name, moved):
    target, meta = other_master(cluster, name), f"bull:{name}:meta"
    cluster.owner(name).redis.hset(meta, "version", "x")
    with cluster.migrating(name, target) as migration:
        if moved:
            migration.move(meta)
        for script in read_scripts().values():
            keys = [meta, meta, f"bull:{name}:ext:guard"]
            for node in (migration.source, target):
                node.redis.script_load(script.source)
            # Redis 6.2 sends its callers on to the other node.
            with pytest.raises((TryAgainError, AskError)):
                migration.source.say("EVALSHA", script.sha, 3, *keys)
            with target.redis.pipeline(transaction=False) as asking:
                asking.execute_command("ASKING").execute_command("EVALSHA", script.sha, 3, *keys)
                _, refused = asking.execute(raise_on_error=False)
            assert isinstance(refused, TryAgainError), (script.name, refused)
        held = {key for node in (migration.source, target) for key in node.redis.scan_iter(f"*{name}*", count=10_000)}
        assert held == {meta}, "nothing was written"


def test_calls_of_every_kind_wait_for_the_end_of_a_migration(cluster, name, working):
    """Reads of single keys are answered at once, by whichever node has the key."""
    queue, flows = Queue(name, url=cluster.url), FlowProducer(url=cluster.url)
    failed = queue.add("job", {"n": 1})
    with working(name, lambda _job: 1 / 0):
        wait_until(lambda: failed.get_state() == "failed", "it has failed")
    waiting = queue.add_bulk([{"name": "job"}] * 3)
    delayed = queue.add("job", delay=3_600_000)
    target = other_master(cluster, name)
    calls = {
        "add": lambda: queue.add("job"),
        "add_bulk": lambda: queue.add_bulk([{"name": "job"}] * 3),
        "add_delayed": lambda: queue.add("job", delay=1_000_000, priority=3),
        "flow": lambda: flows.add(
            {"name": "root", "queue_name": name, "children": [{"name": "leaf", "queue_name": name}]}
        ),
        "scheduler": lambda: queue.upsert_job_scheduler("every", {"every": 1_000_000}),
        "counts": lambda: queue.get_job_counts(),
        "state": lambda: failed.get_state(),
        "retry": lambda: failed.retry(),
        "promote": lambda: delayed.promote(),
        "remove": lambda: waiting[0].remove(),
        "update": lambda: waiting[1].update_data({"n": 5}),
        "log": lambda: waiting[2].log("line"),
        "pause": lambda: queue.pause(),
    }
    with ThreadPoolExecutor(len(calls)) as pool:
        with cluster.migrating(name, target) as migration:
            migration.move(*(key for key in migration.left() if not key.endswith(":meta")))
            assert Queue(name, url=cluster.url).get_job(waiting[1].id).data == {}, "a key that has moved can be read"
            running = {kind: pool.submit(call) for kind, call in calls.items()}
            with pytest.raises(errors.RedisServerError):
                Queue(name, url=cluster.url, timeout=300).add("job")
            assert not running["add"].done(), "the others wait for longer"
        for kind, future in running.items():
            assert future.exception(timeout=20) is None, kind
    queue.resume()
    counts = queue.get_job_counts()
    assert counts["failed"] == 0
    # 5 were there and one was removed; 1 + 3 + 1 were added, the flow has 2, and the scheduler has its next job.
    assert sum(counts[state] for state in ("waiting", "delayed", "prioritized", "waiting-children")) == 12, counts


def test_a_slot_migrates_under_load_and_no_job_is_lost_or_run_twice(cluster, name, working, ledger):
    queue = Queue(name, url=cluster.url, timeout=30_000)
    enough = threading.Event()

    def produce():
        while not enough.is_set():
            ledger.acknowledge(job.id for job in queue.add_bulk([{"name": "brief"}] * 5))
            ledger.acknowledge([queue.add("brief", delay=20).id])

    with working(name, Handlers(ledger), concurrency=4), working(name, Handlers(ledger), concurrency=2):
        threads = [threading.Thread(target=produce) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(2):
                seen = len(ledger.ended)
                wait_until(lambda seen=seen: len(ledger.ended) > seen + 100, "jobs run")
                with cluster.migrating(name, other_master(cluster, name)) as migration:
                    seen = len(ledger.ended)
                    migration.move(*migration.left()[::2])
                    migration.move(*migration.left(20))
            seen = len(ledger.ended)
            wait_until(lambda: len(ledger.ended) > seen + 100, "they run on")
        finally:
            enough.set()
            for thread in threads:
                thread.join()
        count = len(ledger.acknowledged)
        wait_until(lambda: queue.get_completed_count() == count, "all jobs are done")
    ledger.check(cluster.owner(name).redis, name, duplicates=0)


def test_a_slot_that_has_moved_is_followed_by_queues_workers_and_listeners(cluster, name, working, ledger, caplog):
    """An idle worker waits at the old node, and the queue and the reader of events are connected there."""
    queue, heard = Queue(name, url=cluster.url), []
    with QueueEvents(name, url=cluster.url) as events, working(name, Handlers(ledger), drain_delay=5):
        events.on("completed", lambda event: heard.append(event.job_id))
        events.wait_until_ready()
        first = queue.add("quick").id
        wait_until(lambda: heard == [first] and _waits(cluster.owner(name).redis), "a worker is idle")
        target = other_master(cluster, name)
        with cluster.migrating(name, target):
            pass
        ids = [first, *(queue.add("quick").id for _ in range(3))]
        wait_until(lambda: sorted(ledger.ended) == sorted(ids), "the worker has followed")
        wait_until(lambda: sorted(heard) == sorted(ids), "the events have been read")
        assert cluster.owner(name) is target
        wait_until(lambda: _waits(target.redis), "it waits at the new node")
    reported = [line for line in caplog.messages if "cannot reach" in line]
    assert all("another server is the right one now: 127.0.0.1:" in line for line in reported), reported


def _waits(redis: Redis) -> bool:
    return any(client["cmd"] == "bzpopmin" for client in redis.client_list())


@pytest.mark.skipif(not TCP.exists(), reason="needs Linux to see what waits for a server")
def test_a_durable_add_is_not_confirmed_by_the_node_that_its_slot_leaves(cluster, name):
    """Its script runs there; its next command is about a key that has moved, and is asked for at the other node."""
    if "valkey_version" in cluster.owner(name).redis.info("server"):
        pytest.skip("Valkey begins a migration only when its replicas have agreed: the add has ended then")
    queue = Queue(name, url=cluster.url, durable="replica", timeout=30_000)
    queue.add("job")
    migration = Migration(cluster, key_slot(name.encode()), cluster.owner(name), other_master(cluster, name))
    source, slot = migration.source, key_slot(name.encode())
    migration.target.say("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
    moves = source.redis.connection_pool.get_connection()
    try:
        with ThreadPoolExecutor(1) as pool:
            # A server that goes on reads what came for it meanwhile, in that order, before it reads the answers to its
            # replies.
            os.kill(source.server.pid, signal.SIGSTOP)
            added = pool.submit(queue.add, "job")
            wait_until(lambda: _longest_unread(source.port) > 200, "the add waits for the server")
            move = ("MIGRATE", "127.0.0.1", migration.target.port, f"bull:{name}:id", 0, 5_000)
            begin = ("CLUSTER", "SETSLOT", slot, "MIGRATING", migration.target.id)
            moves.send_packed_command(moves.pack_commands([begin, move]))
            os.kill(source.server.pid, signal.SIGCONT)
            with pytest.raises(errors.NotDurableError, match="migrates to another node"):
                added.result()
        assert [moves.read_response() for _ in range(2)] == ["OK", "OK"]
    finally:
        source.redis.connection_pool.release(moves)
        migration.finish()
    assert queue.count() == 2, "the job was added"


def _longest_unread(port: int) -> int:
    """Return the most bytes that a client of a port has sent and its server has not read."""
    sockets = [line.split() for line in TCP.read_text().splitlines()[1:]]
    return max(int(words[4].split(":")[1], 16) for words in sockets if words[1].endswith(f":{port:04X}"))
