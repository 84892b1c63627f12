"""A process forks in the middle of its work: the child starts clean, the parent is not disturbed."""

import asyncio
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bullrush import Queue, Worker, aio
from tests.waiting import wait_until
from tests.watching import is_connected

from .forking import Child, in_child
from .handlers import Handlers


class BusyParent:
    """A process with a queue in use and a worker at work, on several threads."""

    def __init__(self, url: str, ledger) -> None:
        self.ledger = ledger
        self.queue = Queue("work", url=url)
        self.worker = Worker("work", Handlers(ledger), url=url, concurrency=4, stalled_interval=50)
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._produce), threading.Thread(target=self.worker.run)]
        for thread in self._threads:
            thread.start()

    def _produce(self) -> None:
        while not self._enough.wait(0.0005):
            self.ledger.acknowledge(job.id for job in self.queue.add_bulk([{"name": "quick"}] * 3))

    def end(self) -> None:
        self._enough.set()
        self._threads[0].join()
        wait_until(lambda: self.queue.get_completed_count() >= len(self.ledger.acknowledged), "all jobs are done")
        self.worker.close()
        self._threads[1].join()


@pytest.fixture
def parent(server, ledger) -> Iterator[BusyParent]:
    """Return a process in the middle of its work: this one."""
    busy = BusyParent(server.url, ledger)
    wait_until(lambda: len(ledger.ended) > 50, "the work has begun")
    yield busy
    if not busy._enough.is_set():
        busy.end()


def use_all_of_it(queue: Queue, own_name: str, url: str) -> tuple[str, int]:
    """Use the parent's queue object, and a new queue and worker, as a task of Spark may."""
    job = queue.add("quick", {"from": "child"})
    own = Queue(own_name, url=url)
    own.add_bulk([{"name": "quick"}] * 10)
    stats = Worker(own_name, lambda job: job.id, url=url, concurrency=2).run(until="drained")
    own.close()
    return job.id, stats.completed


def test_forks_in_the_middle_of_use_work_on_both_sides(parent, server, own_redis, ledger):
    added = []
    for number in range(25):
        job_id, completed = in_child(lambda number=number: use_all_of_it(parent.queue, f"own-{number}", server.url))
        added.append(job_id)
        assert completed == 10
    seen = len(ledger.ended)
    wait_until(lambda: len(ledger.ended) > seen + 50, "the parent continues")
    ledger.acknowledge(added)
    parent.end()
    ledger.check(own_redis, "work", duplicates=0)


def test_a_child_never_inherits_a_held_mutex(parent):
    """Forks at any moment, also while a thread of the parent blocks or wakes another one."""

    def add_from_three_threads() -> int:
        adding = [threading.Thread(target=parent.queue.add, args=("quick",)) for _ in range(3)]
        for thread in adding:
            thread.start()
        for thread in adding:
            thread.join()
        return 3

    assert sum(in_child(add_from_three_threads) for _ in range(120)) == 360
    sources = (Path(__file__).parents[2] / "src").rglob("*.rs")
    assert [path.name for path in sources if "parking_lot::" in path.read_text()] == [], "see src/lock.rs"


def test_children_that_run_at_the_same_time_do_not_share_a_connection(parent, server):
    children = [
        Child(lambda number=number: use_all_of_it(parent.queue, f"own-{number}", server.url)) for number in range(6)
    ]
    ids = [child.result()[0] for child in children]
    assert len(set(ids)) == 6


def test_a_child_of_a_child_works(parent, server):
    def descend() -> list[str]:
        job = parent.queue.add("quick")
        return [job.id, in_child(lambda: use_all_of_it(parent.queue, "own", server.url))[0]]

    assert len(set(in_child(descend))) == 2


def test_a_child_that_ends_or_collects_garbage_does_not_disturb_its_parent(parent, ledger):
    def collect() -> None:
        del parent.queue, parent.worker
        gc.collect()

    in_child(collect)
    seen = len(ledger.ended)
    wait_until(lambda: len(ledger.ended) > seen + 50, "the parent continues")


def test_a_connection_closed_by_the_parent_is_closed_although_a_child_lives(server, own_redis):
    """A child has copies of all sockets: if the parent only closed its own, its wait for jobs would stay pending."""
    worker = Worker("work", lambda job: None, url=server.url, drain_delay=60_000)
    working = threading.Thread(target=worker.run)
    working.start()
    wait_until(lambda: is_connected(own_redis), "the worker waits")
    reading, writing = os.pipe()
    child = Child(lambda: os.read(reading, 1))
    try:
        worker.close()
        working.join()
        wait_until(lambda: not is_connected(own_redis), "its wait is over", seconds=20)
    finally:
        os.write(writing, b".")
        assert child.result() == b"."
        os.close(reading)
        os.close(writing)


def test_a_child_may_exit_like_any_program(server):
    """Exit handlers, non-daemon threads and destructors of inherited objects neither hang nor fail."""
    program = f"""
import os, sys, threading
from bullrush import Queue, Worker
queue = Queue("work", url={server.url!r})
queue.add("first")
worker = Worker("work", lambda job: None, url={server.url!r}, autorun=True)
pid = os.fork()
if pid == 0:
    queue.add("from the child")
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
queue.add("from the parent")
worker.close()
print("both ended")
"""
    quiet = ["-W", "ignore:This process:DeprecationWarning"]  # Python >= 3.12 warns of every fork beside threads
    ended = subprocess.run([sys.executable, *quiet, "-c", program], capture_output=True, text=True, timeout=100)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "both ended\n", "")


@pytest.mark.parametrize("call", ["run", "close", "pause"])
def test_a_running_worker_of_the_parent_raises_in_the_child(parent, call):
    def use() -> str:
        with pytest.raises(RuntimeError, match="belongs to the process that made it") as caught:
            getattr(parent.worker, call)()
        return str(caught.value)

    assert "make a new Worker after the fork" in in_child(use)


def test_a_worker_that_did_not_run_before_the_fork_runs_in_the_child(server, queue):
    worker = Worker("work", lambda job: job.id, url=server.url)
    queue.add("quick")
    assert in_child(lambda: worker.run(until="drained").completed) == 1


def test_a_job_of_the_parent_can_be_read_and_asked_for_in_the_child(queue):
    job = queue.add("quick", {"n": 1})
    stored = queue.get_job(job.id)
    assert in_child(lambda: (stored.data, stored.get_state(), job.get_state())) == ({"n": 1}, "waiting", "waiting")


def test_a_queue_of_asyncio_works_in_a_child(server):
    queue = aio.Queue("work", url=server.url)

    async def add() -> str:
        return (await queue.add("quick")).id

    first = asyncio.run(add())
    assert in_child(lambda: asyncio.run(add())) != first
    assert asyncio.run(add()) is not None


def test_a_pool_of_forked_processes_shares_a_queue_object(queue, own_redis):
    queue.add("warm")
    with multiprocessing.get_context("fork").Pool(3, initializer=_keep, initargs=(queue,)) as pool:
        ids = pool.map(_add, range(60), chunksize=5)
        pool.close()
        pool.join()
    assert len(set(ids)) == 60
    assert queue.get_waiting_count() == 61


_kept: list[Queue] = []


def _keep(queue: Queue) -> None:
    _kept.append(queue)


def _add(number: int) -> str:
    return _kept[0].add("quick", {"n": number}).id
