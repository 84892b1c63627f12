"""The server is killed under load and comes back with all acknowledged writes (its append-only file is synced)."""

import threading

import pytest

from bullrush import Queue, Worker, errors
from tests.waiting import wait_until

from .handlers import Handlers

CRASHES = 3
CONCURRENCY = 4


class Load:
    """A producer and a worker that have to recover by themselves."""

    def __init__(self, url: str, ledger, *, named: bool) -> None:
        self.queue = Queue("work", url=url, timeout=30_000)
        self.worker = Worker(
            "work",
            Handlers(ledger),
            url=url,
            concurrency=CONCURRENCY,
            prefetch=0,
            lock_duration=2000,
            stalled_interval=300,
        )
        self.unknown = 0
        self._named = named
        self._ledger = ledger
        self._enough = threading.Event()
        self._threads = [threading.Thread(target=self._produce), threading.Thread(target=self.worker.run)]
        for thread in self._threads:
            thread.start()

    def _produce(self) -> None:
        number = 0
        while not self._enough.is_set():
            number += 1
            options = {"job_id": f"job-{number}"} if self._named else {}
            try:
                self._ledger.acknowledge([self.queue.add("brief", **options).id])
            except errors.OutcomeUnknownError:
                self.unknown += 1

    def end_producing(self) -> None:
        self._enough.set()
        self._threads[0].join()

    def end(self) -> None:
        self.end_producing()
        self.worker.close()
        self._threads[1].join()


@pytest.mark.parametrize("named", [True, False], ids=["with_ids_of_their_own", "with_automatic_ids"])
def test_a_killed_server_comes_back_and_every_acknowledged_job_completes(lasting_server, client_of, ledger, named):
    load = Load(lasting_server.url, ledger, named=named)
    try:
        for crash in range(1, CRASHES + 1):
            enough = 150 * crash
            wait_until(lambda enough=enough: len(ledger.ended) > enough, "the worker is under load")
            lasting_server.kill()
            lasting_server.restart()
        seen = len(ledger.ended)
        wait_until(lambda: len(ledger.ended) > seen + 100, "both continue by themselves")
        load.end_producing()
        expected = set(ledger.acknowledged)
        redis = client_of(lasting_server)
        wait_until(lambda: not redis.exists("bull:work:wait", "bull:work:active"), "all jobs are done")
        completed = set(redis.zrange("bull:work:completed", 0, -1))
    finally:
        load.end()
    assert expected <= completed
    ledger.check(redis, "work", duplicates=CRASHES * CONCURRENCY)
    # With job ids, an add without a reply is repeated; without ids it raises an error and adds nothing twice.
    assert load.unknown == 0 if named else load.unknown <= CRASHES
    assert len(completed) <= len(expected) + load.unknown
