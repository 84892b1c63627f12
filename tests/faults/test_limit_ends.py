"""A worker fetches when its rate limit ends, whatever it does at that moment."""

import threading

import pytest
from redis import Redis

from bullrush import Queue, Worker
from tests.faults.proxy import Proxy
from tests.waiting import wait_until

#: In ms: how long the limit lasts, and how much later each reply comes, so that the second one comes after its end.
_LIMIT = 1_000
_LATE = 700


@pytest.mark.parametrize("limited_by", ["worker", "queue"])
def test_a_marker_that_is_put_back_while_the_limit_ends_hides_no_job(
    own_redis: Redis, queue: Queue, proxy: Proxy, limited_by: str
) -> None:
    limit = {"limiter": {"max": 1, "duration": _LIMIT}} if limited_by == "worker" else {}
    if limited_by == "queue":
        queue.set_global_rate_limit(1, _LIMIT)
    marker, done = queue.to_key("marker"), list[str]()
    worker = Worker(queue.name, lambda job: None, url=proxy.url, drain_delay=60_000, **limit)
    worker.on("completed", lambda job, _: done.append(job.id))

    def waiters() -> int:
        return sum("b" in client["flags"] for client in own_redis.client_list())

    thread = threading.Thread(target=worker.run)
    # Somebody else takes the marker that the fetch of the first job sets, so the worker's wait outlives that fetch.
    other = threading.Thread(target=own_redis.bzpopmin, args=(marker, 60))
    thread.start()
    try:
        wait_until(lambda: waiters() == 1)
        other.start()
        wait_until(lambda: waiters() == 2)
        queue.add("first", delay=200)
        wait_until(lambda: len(done) == 1)
        other.join()
        proxy.delay(_LATE / 1_000)
        queue.add("second")  # the worker is limited: it puts the marker back, and hears of that when the limit is over
        wait_until(lambda: len(done) == 2)
    finally:
        proxy.delay(0)
        worker.close()
        thread.join()
