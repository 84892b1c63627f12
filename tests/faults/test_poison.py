"""A job that kills whoever runs it must not take its neighbours with it."""

from .waiting import until


def test_a_job_that_kills_its_workers_fails_alone(queue, own_redis, ledger, start_worker, server):
    """Its neighbours were claimed together with it, often; they have never stalled by their own doing."""
    jobs = queue.add_bulk([{"name": "deadly" if n == 300 else "quick"} for n in range(600)])
    poison = jobs[300].id

    def attended() -> bool:
        """Start a worker whenever there is none, as a supervisor does."""
        if not workers or not workers[-1].alive:
            workers.append(start_worker(server.url, lock_duration=500, stalled_interval=200))
        return queue.get_completed_count() + queue.get_failed_count() == 600

    workers = []
    until("all jobs are finished", attended, seconds=40)
    assert own_redis.zrange("bull:work:failed", 0, -1) == [poison]
    assert queue.get_job(poison).failed_reason == "job stalled more than allowable limit"
    assert ledger.begun.count(poison) == 2


def test_handlers_that_become_slow_hold_nothing_ahead(queue, own_redis, ledger, start_worker, server):
    queue.add_bulk([{"name": "quick"}] * 3000 + [{"name": "slow"}] * 600)
    start_worker(server.url, concurrency=2)
    until("the quick ones are done", lambda: queue.get_completed_count() >= 3000)
    until("few are claimed", lambda: own_redis.llen("bull:work:active") <= 4, seconds=5)
    for _ in range(20):
        assert own_redis.llen("bull:work:active") <= 4
