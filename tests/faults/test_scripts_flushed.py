"""The server loses all scripts, again and again, under load: no caller notices it."""

import threading

from redis import Redis

from bullrush import Queue, Worker
from tests.waiting import wait_until

from .handlers import Handlers


def test_flushed_scripts_are_loaded_again_in_mid_load(queue, own_redis, ledger, server):
    done = threading.Event()

    def flush() -> None:
        with Redis.from_url(server.url) as client:
            while not done.wait(0.003):
                client.script_flush()

    flushing = threading.Thread(target=flush)
    worker = Worker(queue.name, Handlers(ledger), url=server.url, concurrency=4)
    working = threading.Thread(target=worker.run)
    flushing.start()
    working.start()
    try:
        for _ in range(60):
            ledger.acknowledge([queue.add("quick").id])
            ledger.acknowledge(job.id for job in queue.add_bulk([{"name": "quick"}] * 20))
        wait_until(lambda: queue.get_completed_count() == 60 * 21, "all jobs are done")
    finally:
        done.set()
        worker.close()
        flushing.join()
        working.join()
    assert own_redis.info("errorstats")["errorstat_NOSCRIPT"]["count"] > 20
    ledger.check(own_redis, queue.name, duplicates=0)
    order = list(map(int, ledger.acknowledged))
    assert order == sorted(order), "jobs of one producer keep their order"


def test_a_new_connection_brings_the_scripts_that_producers_and_workers_run(own_redis, server):
    with Queue("new", url=server.url) as queue:
        queue.add_bulk([{"name": "quick"}] * 5)
        with Worker("new", lambda job: job.id, url=server.url) as worker:
            assert worker.run(max_jobs=5).completed == 5
    assert own_redis.info("errorstats").get("errorstat_NOSCRIPT") is None, "no first call was refused"
