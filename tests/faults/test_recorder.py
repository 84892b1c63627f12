"""A recorder behind Sentinels: another server takes over, with all of the data or without its end."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bullrush import Queue, Worker
from bullrush.embedded import EmbeddedRedis
from bullrush.recorder import History, Recorder
from tests.servers.sentinel import SentinelServers
from tests.waiting import wait_until

pytestmark = [pytest.mark.xdist_group("sentinel"), pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def servers() -> Iterator[SentinelServers]:
    with SentinelServers() as servers:
        yield servers


@contextmanager
def recorded(file: Path, url: str, name: str) -> Iterator[History]:
    with Recorder(file, url, queues=[name]) as recorder, History(file) as history:
        running = threading.Thread(target=recorder.run)
        running.start()
        yield history
        recorder.stop()
        running.join()


def work(url: str, name: str, ids: list[str]) -> list[str]:
    """Run jobs with these ids, and return the ids."""
    with Queue(name, url=url, timeout=60_000) as queue, Worker(name, lambda job: None, url=url) as worker:
        queue.add_bulk([{"name": "n", "opts": {"job_id": id}} for id in ids])
        worker.run(until="drained")
    return ids


def wait_for(history: History, name: str, ids: list[str]) -> None:
    """Wait until the ends of these jobs are known, and check that each was heard of once."""
    wait_until(lambda: all(history.find(name, job_id=id, outcome="completed") for id in ids), seconds=60)
    assert {id: [one.number for one in history.attempts(name, id)] for id in ids} == {id: [1] for id in ids}


def gaps_of(history: History, name: str) -> list[tuple[int, int]]:
    known = history.remembered(name)
    return [] if known is None else known.gaps


def test_a_planned_failover_leaves_no_gap(servers: SentinelServers, tmp_path: Path) -> None:
    with recorded(tmp_path / "history.db", servers.url, "planned") as history:
        before = work(servers.url, "planned", ["a", "b"])
        wait_for(history, "planned", before)
        servers.fail_over()
        after = work(servers.url, "planned", ["c", "d"])
        wait_for(history, "planned", before + after)
        assert gaps_of(history, "planned") == []
    servers.wait_until_ready()


def test_a_replica_that_lags_behind_leaves_a_gap_when_it_takes_over(servers: SentinelServers, tmp_path: Path) -> None:
    """What it never had stays in the history: it did happen, and nothing is heard of it twice."""
    name, master = "lags", servers.master()
    with recorded(tmp_path / "history.db", servers.url, name) as history:
        before = work(servers.url, name, ["a", "b"])
        wait_for(history, name, before)
        with without_replicas(servers, master):
            lost = work(servers.url, name, ["c", "d"])
            wait_for(history, name, lost)
            master.kill()
        servers.wait_for_other_master(master)
        wait_until(lambda: gaps_of(history, name), seconds=60)
        after = work(servers.url, name, ["e", "f"])
        wait_for(history, name, before + lost + after)
        [gap] = gaps_of(history, name)
        ended: Callable[[str], int] = lambda id: history.attempts(name, id)[0].ended or 0  # noqa: E731
        assert gap[0] < ended("c") <= gap[1] and gap[1] >= ended("d")
    master.restart()


@contextmanager
def without_replicas(servers: SentinelServers, master: EmbeddedRedis) -> Iterator[None]:
    """Let nothing of what is written to the master while the block runs reach a replica."""
    replicas = [server for server in servers.servers if server is not master]
    with servers.connect(master) as redis:
        # A former master follows the new one only after some seconds.
        wait_until(lambda: redis.wait(len(replicas), 100) == len(replicas), "the replicas have everything", seconds=60)
        for replica in replicas:
            os.kill(replica.pid, signal.SIGSTOP)
        redis.client_kill_filter(_type="replica")
    try:
        yield
    finally:
        for replica in replicas:
            os.kill(replica.pid, signal.SIGCONT)
