"""A run that ends by itself ends at the right moment, also when connections break and replies are lost."""

import threading
from collections import Counter

import pytest

from bullrush import Worker
from tests.driver.ledger import Ledger
from tests.waiting import wait_until

from .handlers import Handlers


def worker_behind(proxy, ledger: Ledger, **options) -> Worker:
    # No stalled check recovers lost jobs: the worker must ask Redis, or the run would hang.
    return Worker("work", Handlers(ledger), url=proxy.url, skip_stalled_check=True, **options)


def test_a_run_until_drained_ends_drained_although_connections_break(queue, own_redis, proxy, ledger):
    ledger.acknowledge(job.id for job in queue.add_bulk([{"name": "brief"}] * 400))
    outcome = []
    running = threading.Thread(
        target=lambda: outcome.append(worker_behind(proxy, ledger, concurrency=3).run(until="drained"))
    )
    running.start()
    for count in (100, 200, 300):
        wait_until(lambda count=count: len(ledger.ended) > count, "the work continues")
        proxy.reset()
    running.join(30)
    assert outcome[0].completed == 400
    ledger.check(own_redis, "work", duplicates=0)


@pytest.mark.parametrize("script", ["move_to_active", "move_to_finished"])
@pytest.mark.parametrize("until_", ["empty", "drained"])
def test_a_run_does_not_end_while_a_fetch_is_missing(queue, own_redis, proxy, ledger, script, until_):
    queue.add("quick")
    worker_behind(proxy, ledger).run(until="empty")  # so that the proxy knows the scripts
    ids = [job.id for job in queue.add_bulk([{"name": "quick"}] * 2)]
    trap = proxy.lose_reply(script, when=lambda _: own_redis.llen("bull:work:wait") > 0)
    assert worker_behind(proxy, ledger, prefetch=0).run(until=until_).completed == 2
    assert trap.sprung.is_set()
    assert ledger.begun[1:] == ids


@pytest.mark.parametrize("script", ["move_to_active", "move_to_finished"])
@pytest.mark.parametrize("prefetch", [0, 50])
def test_a_run_with_max_jobs_takes_exactly_that_many(queue, own_redis, proxy, ledger, script, prefetch):
    queue.add("quick")
    worker_behind(proxy, ledger).run(until="empty")
    ids = [job.id for job in queue.add_bulk([{"name": "quick"}] * 30)]
    trap = proxy.lose_reply(script)
    outcome = worker_behind(proxy, ledger, concurrency=4, prefetch=prefetch).run(max_jobs=10)
    assert outcome.completed == 10
    assert trap.sprung.is_set()
    assert own_redis.lrange("bull:work:active", 0, -1) == []
    assert own_redis.lrange("bull:work:wait", 0, -1)[::-1] == ids[10:]
    assert Counter(ledger.begun[1:]) == Counter(ids[:10])


def test_a_worker_closed_while_a_fetch_is_missing_gives_its_jobs_back(queue, own_redis, proxy, ledger):
    queue.add("quick")
    worker_behind(proxy, ledger).run(until="empty")
    ids = [job.id for job in queue.add_bulk([{"name": "quick"}] * 100)]
    trap = proxy.lose_reply("move_to_active")
    worker = worker_behind(proxy, ledger, concurrency=2, prefetch=98)
    running = threading.Thread(target=worker.run)
    running.start()
    assert trap.sprung.wait(10)
    worker.close()
    running.join(10)
    assert own_redis.lrange("bull:work:active", 0, -1) == []
    done = own_redis.zrange("bull:work:completed", 0, -1)
    waiting = own_redis.lrange("bull:work:wait", 0, -1)[::-1]
    assert sorted([*done, *waiting], key=int) == ["1", *ids]
    assert waiting == sorted(waiting, key=int)
    assert ledger.duplicates == 0
