"""Another server takes over: connections to the old one are closed, scripts are loaded again, nothing is lost."""

import os
import re
import signal
import threading

import pytest

from bullrush import Queue, Worker, cli, errors
from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until
from tests.watching import is_connected

from .handlers import Handlers


def port(server: EmbeddedRedis) -> int:
    return int(server.url.rsplit(":", 1)[1].split("/")[0])


def test_a_planned_failover_in_mid_load_loses_nothing(server, own_redis, client_of, proxy, ledger):
    """The address leads to the new primary after a while; the old one stays up and refuses writes."""
    worker = Worker("work", Handlers(ledger), url=proxy.url, concurrency=4, skip_stalled_check=True)
    producer = Queue("work", url=proxy.url, timeout=30_000)
    enough = threading.Event()

    def produce() -> None:
        number = 0
        while not enough.is_set():
            number += 1
            ledger.acknowledge([producer.add("brief", job_id=f"job-{number}").id])

    threads = [threading.Thread(target=worker.run), threading.Thread(target=produce)]
    with EmbeddedRedis(port=0, password="") as replica:
        new = client_of(replica)
        for thread in threads:
            thread.start()
        try:
            wait_until(lambda: len(ledger.ended) > 100, "the worker is under load")
            own_redis.config_set("repl-diskless-sync-delay", 0)
            new.execute_command("REPLICAOF", "127.0.0.1", port(server))
            wait_until(
                lambda: own_redis.info("replication").get("slave0", {}).get("state") == "online",
                "the replica is in sync",
            )
            proxy.lead_to(port(replica))
            own_redis.execute_command("FAILOVER", "TO", "127.0.0.1", port(replica))
            wait_until(lambda: new.info("replication")["role"] == "master", "the replica is the primary")
            seen = len(ledger.ended)
            wait_until(lambda: len(ledger.ended) > seen + 100, "both continue by themselves")
            enough.set()
            threads[1].join()
            count = len(ledger.acknowledged)
            wait_until(lambda: new.zcard("bull:work:completed") == count, "all jobs are done")
        finally:
            enough.set()
            worker.close()
            for thread in threads:
                thread.join()
        ledger.check(new, "work", duplicates=0)


def test_a_primary_that_becomes_a_replica_is_waited_for(server, own_redis, queue, ledger, tmp_path, caplog):
    gate = tmp_path / "gate"
    job = queue.add("gated", {"gate": str(gate)})
    worker = Worker("work", Handlers(ledger), url=server.url, concurrency=2, lock_duration=60_000)
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: ledger.begun and is_connected(own_redis), "it runs one and waits for another")
        own_redis.execute_command("REPLICAOF", "127.0.0.1", 1)
        gate.touch()
        wait_until(lambda: ledger.ended, "the handler has returned")
        with pytest.raises((errors.ConnectionLostError, errors.RedisServerError)):
            Queue("work", url=server.url, timeout=300).add("quick")
        assert Queue("work", url=server.url).get_active_count() == 1, "reading works"
        own_redis.execute_command("REPLICAOF", "NO", "ONE")
        wait_until(lambda: job.get_state() == "completed", "the outcome is stored")
    finally:
        gate.touch()
        own_redis.execute_command("REPLICAOF", "NO", "ONE")
        worker.close()
        working.join()
    assert ledger.begun == [job.id]
    reported = [line for line in caplog.messages if "cannot reach" in line or "connected to" in line]
    assert len(reported) == 2, "one line when it refused to write, and one when it was back"


def test_a_server_that_stops_for_longer_than_the_locks_causes_at_most_one_more_run_per_job(
    server, own_redis, queue, ledger, tmp_path
):
    gate = tmp_path / "gate"
    ids = [job.id for job in queue.add_bulk([{"name": "gated", "data": {"gate": str(gate)}}] * 3)]
    ledger.acknowledge(ids)
    # After one stall of three allowed, the jobs may run at the same time again.
    short_locks = {"lock_duration": 1200, "stalled_interval": 200, "max_stalled_count": 2}
    worker = Worker("work", Handlers(ledger), url=server.url, concurrency=6, **short_locks)
    lost: list[str] = []
    worker.on("error", lambda error: lost.extend(re.findall(r"could not renew lock for job (\d+)", str(error))))
    working = threading.Thread(target=worker.run)
    working.start()
    try:
        wait_until(lambda: len(ledger.begun) == 3, "all run")
        os.kill(server.pid, signal.SIGSTOP)
        wait_until(lambda: sorted(lost) == ids, "the worker has reported its lost locks")
        os.kill(server.pid, signal.SIGCONT)
        wait_until(lambda: len(ledger.begun) == 6, "they run again")
        gate.touch()
        wait_until(lambda: queue.get_completed_count() == 3, "they are completed")
    finally:
        os.kill(server.pid, signal.SIGCONT)
        gate.touch()
        worker.close()
        working.join()
    ledger.check(own_redis, "work", duplicates=3)


def test_a_worker_is_not_ready_for_a_server_that_only_reads(server, own_redis, capsys):
    words = ["worker", "json:dumps", "-Q", "work", "--check", "--url", server.url]
    assert cli.main(words) == 0, capsys.readouterr()
    own_redis.execute_command("REPLICAOF", "127.0.0.1", 1)
    assert cli.main(words) == 3
    assert "a replica, which refuses to write" in capsys.readouterr().err
