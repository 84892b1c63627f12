"""A worker dies, or seems to: another one runs its jobs, and later outcomes of the first one are refused."""

from tests.driver.ledger import completions
from tests.waiting import wait_until

from .handlers import Handlers

SHORT_LOCKS = {"lock_duration": 1000, "stalled_interval": 250}


def test_a_killed_workers_jobs_are_done_by_another(queue, own_redis, ledger, start_worker, server, tmp_path):
    gate = tmp_path / "gate"
    ledger.acknowledge(job.id for job in queue.add_bulk([{"name": "gated", "data": {"gate": str(gate)}}] * 3))
    killed = start_worker(server.url, concurrency=3, **SHORT_LOCKS)
    wait_until(lambda: len(ledger.begun) == 3, "all jobs run")
    killed.kill()
    gate.touch()
    start_worker(server.url, concurrency=3, **SHORT_LOCKS)
    wait_until(lambda: queue.get_completed_count() == 3, "all jobs are done")
    ledger.check(own_redis, queue.name, duplicates=3)


def test_workers_killed_one_after_another_under_load_lose_nothing(queue, own_redis, ledger, start_worker, server):
    kills, concurrency, prefetch = 3, 4, 8
    options = {"concurrency": concurrency, "prefetch": prefetch, "max_stalled_count": kills, **SHORT_LOCKS}
    ledger.acknowledge(job.id for job in queue.add_bulk([{"name": "brief"}] * 1500))
    workers = [start_worker(server.url, **options) for _ in range(2)]
    for kill in range(1, kills + 1):
        wait_until(lambda kill=kill: len(ledger.ended) > 300 * kill, "the worker is under load")
        workers.pop(0).kill()
        workers.append(start_worker(server.url, **options))
    wait_until(lambda: queue.get_completed_count() == 1500, "all jobs are done")
    # Only finished runs count: prefetched jobs have not run.
    ledger.check(own_redis, queue.name, duplicates=kills * (concurrency + prefetch))


def test_a_worker_suspended_for_longer_than_its_lock_cannot_finish_its_job(
    queue, own_redis, ledger, start_worker, server, tmp_path
):
    gate = tmp_path / "gate"
    job = queue.add("gated", {"gate": str(gate)})
    ledger.acknowledge([job.id])
    suspended = start_worker(server.url, name="suspended", skip_stalled_check=True, **SHORT_LOCKS)
    wait_until(lambda: ledger.begun == [job.id], "the job runs")
    suspended.suspend()
    start_worker(server.url, name="successor", **SHORT_LOCKS)
    wait_until(lambda: ledger.begun == [job.id] * 2, "it runs again elsewhere")
    suspended.go_on()
    wait_until(
        lambda: suspended.has_said(f"could not renew lock for job {job.id}"),
        "the suspended worker knows that it lost its lock",
    )
    gate.touch()
    wait_until(lambda: ledger.ended == [job.id] * 2, "both have finished it")
    suspended.terminate()
    assert suspended.wait() == 0
    assert suspended.has_said("outcome RunStats(completed=0, failed=0, retried=0")
    wait_until(lambda: queue.get_completed_count() == 1, "the outcome of the successor is stored")
    assert queue.get_job(job.id).processed_by == "successor"
    ledger.check(own_redis, queue.name, duplicates=1)


def test_an_outcome_after_another_worker_took_the_job_is_refused(
    queue, own_redis, ledger, start_worker, server, tmp_path
):
    """The first call of the suspended worker after it continues is its outcome; the lock renewal comes later."""
    gate = tmp_path / "gate"
    job = queue.add("gated", {"gate": str(gate)})
    ledger.acknowledge([job.id])
    suspended = start_worker(
        server.url, name="suspended", skip_stalled_check=True, skip_lock_renewal=True, lock_duration=600
    )
    wait_until(lambda: ledger.begun == [job.id], "the job runs")
    suspended.suspend()
    successor = start_worker(server.url, name="successor", **SHORT_LOCKS)
    wait_until(lambda: ledger.begun == [job.id] * 2, "it runs again elsewhere")
    successor.suspend()
    gate.touch()
    suspended.go_on()
    wait_until(lambda: suspended.has_said(f"for job {job.id}. "), "the outcome of the suspended worker was refused")
    assert completions(own_redis, queue.name) == {}
    successor.go_on()
    wait_until(lambda: queue.get_completed_count() == 1, "the outcome of the successor is stored")
    assert queue.get_job(job.id).processed_by == "successor"
    ledger.check(own_redis, queue.name, duplicates=1)


def test_a_worker_suspended_for_longer_than_its_locks_starts_none_of_its_jobs(
    queue, own_redis, ledger, start_worker, server, tmp_path
):
    gate = tmp_path / "gate"
    first = queue.add("gated", {"gate": str(gate)}).id
    rest = [job.id for job in queue.add_bulk([{"name": "quick"}] * 200)]
    ledger.acknowledge([first, *rest])
    suspended = start_worker(server.url, prefetch=200, skip_stalled_check=True, **SHORT_LOCKS)
    wait_until(lambda: ledger.begun == [first] and own_redis.llen("bull:work:active") == 201, "all are fetched")
    suspended.suspend()
    gate.touch()
    start_worker(server.url, **SHORT_LOCKS)
    wait_until(lambda: queue.get_completed_count() == 201, "another worker has done them")
    suspended.go_on()
    wait_until(lambda: suspended.has_said("could not renew lock"), "the suspended worker knows that it lost its lock")
    wait_until(lambda: ledger.ended.count(first) == 2, "its handler has returned")
    suspended.terminate()
    assert suspended.wait() == 0
    ledger.check(own_redis, queue.name, duplicates=1)


def test_a_worker_asked_to_end_finishes_its_job(queue, own_redis, ledger, start_worker, server, tmp_path):
    gate = tmp_path / "gate"
    job = queue.add("gated", {"gate": str(gate)})
    ledger.acknowledge([job.id])
    worker = start_worker(server.url)
    wait_until(lambda: ledger.begun == [job.id], "the job runs")
    worker.terminate()
    wait_until(lambda: worker.has_said("closing after the running jobs"), "it takes no more jobs")
    later = queue.add("quick")
    gate.touch()
    assert worker.wait() == 0
    assert worker.has_said("outcome RunStats(completed=1, failed=0, retried=0")
    assert queue.get_job(later.id).get_state() == "waiting"
    assert Handlers(ledger).quick(job) == queue.get_job(job.id).returnvalue
