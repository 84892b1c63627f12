"""A recorder on a cluster: it finds the queues of all masters, and follows them to other nodes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bullrush import Queue, Worker
from bullrush.recorder import History, Recorder
from tests.servers.cluster import Cluster
from tests.waiting import wait_until


@contextmanager
def recorded(file: Path, url: str, names: list[str] | None) -> Iterator[History]:
    with Recorder(file, url, queues=names) as recorder, History(file) as history:
        running = threading.Thread(target=recorder.run)
        running.start()
        yield history
        recorder.stop()
        running.join()


def work(url: str, name: str, *ids: str) -> None:
    """Run jobs with these ids."""
    with Queue(name, url=url, timeout=60_000) as queue, Worker(name, lambda job: None, url=url) as worker:
        queue.add_bulk([{"name": "n", "opts": {"job_id": id}} for id in ids])
        worker.run(until="drained")


def wait_for(history: History, name: str, *ids: str) -> None:
    """Wait until the ends of these jobs are known, and check that each was heard of once."""
    wait_until(lambda: all(history.find(name, job_id=id, outcome="completed") for id in ids), seconds=60)
    assert {id: [one.number for one in history.attempts(name, id)] for id in ids} == {id: [1] for id in ids}


def gaps_of(history: History, name: str) -> list[tuple[int, int]]:
    known = history.remembered(name)
    return [] if known is None else known.gaps


def settle(cluster: Cluster, *, timeout: int, whole: str) -> None:
    """Set after how many ms a node has failed, and whether the others stop then."""
    for node in cluster.nodes:
        node.say("CONFIG", "SET", "cluster-node-timeout", timeout)
        node.say("CONFIG", "SET", "cluster-require-full-coverage", whole)


@pytest.fixture
def names(cluster: Cluster) -> Iterator[list[str]]:
    """A queue on each master."""
    found = [cluster.key("recorded", cluster.shard(number)) for number in range(3)]
    yield found
    for name in found:
        with Queue(name, url=cluster.url, timeout=60_000) as queue:
            queue.obliterate(force=True)


def test_the_queues_of_all_masters_are_found_and_recorded(cluster: Cluster, names: list[str], tmp_path: Path) -> None:
    for name in names:
        work(cluster.url, name, "a")
    with recorded(tmp_path / "history.db", cluster.url, None) as history:
        for name in names:
            wait_for(history, name, "a")
            work(cluster.url, name, "b")
        for name in names:
            wait_for(history, name, "a", "b")
            assert gaps_of(history, name) == []


def test_a_slot_that_migrates_takes_its_queue_along(cluster: Cluster, names: list[str], tmp_path: Path) -> None:
    name = names[0]
    with recorded(tmp_path / "history.db", cluster.url, names) as history:
        work(cluster.url, name, "a")
        wait_for(history, name, "a")
        source = cluster.owner(name)
        to = next(node for node in cluster.masters() if node is not source)
        with cluster.migrating(name, to):
            pass
        work(cluster.url, name, "b")
        wait_for(history, name, "a", "b")
        with cluster.migrating(name, source):
            pass
        work(cluster.url, name, "c")
        wait_for(history, name, "a", "b", "c")
        assert gaps_of(history, name) == []


def test_a_master_that_dies_holds_up_no_queue_of_the_others(cluster: Cluster, names: list[str], tmp_path: Path) -> None:
    """Its own queue goes on without a gap: its replica has everything."""
    dying, other = names[2], names[0]
    with recorded(tmp_path / "history.db", cluster.url, names) as history:
        for name in (dying, other):
            work(cluster.url, name, "a")
            wait_for(history, name, "a")
        master = cluster.owner(dying)
        [replica] = cluster.replicas_of(master)
        wait_until(lambda: master.say("WAIT", 1, 100) == 1, "the replica has it all")
        settle(cluster, timeout=500, whole="no")
        master.kill()
        try:
            work(cluster.url, other, "b")
            wait_for(history, other, "a", "b")
            assert cluster.owner(dying) is replica
            work(cluster.url, dying, "b")
            wait_for(history, dying, "a", "b")
        finally:
            master.restart()
            cluster.wait_until_up()
            settle(cluster, timeout=cluster.timeout, whole="yes")
        assert gaps_of(history, dying) == gaps_of(history, other) == []
