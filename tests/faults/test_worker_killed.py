"""A worker dies, or seems to: another one does its jobs, and what the dead one still says does not count."""

from .handlers import Handlers
from .ledger import completions
from .waiting import until

IMPATIENT = {"lock_duration": 600, "stalled_interval": 250}


def test_a_killed_workers_jobs_are_done_by_another(queue, own_redis, ledger, start_worker, server, tmp_path):
    gate = tmp_path / "gate"
    ledger.acknowledge(job.id for job in queue.add_bulk([{"name": "gated", "data": {"gate": str(gate)}}] * 3))
    doomed = start_worker(server.url, concurrency=3, **IMPATIENT)
    until("all jobs run", lambda: len(ledger.begun) == 3)
    doomed.kill()
    gate.touch()
    start_worker(server.url, concurrency=3, **IMPATIENT)
    until("all jobs are done", lambda: queue.get_completed_count() == 3)
    ledger.check(own_redis, queue.name, duplicates=3)


def test_workers_killed_one_after_another_under_load_lose_nothing(queue, own_redis, ledger, start_worker, server):
    kills, concurrency, prefetch = 3, 4, 8
    options = {"concurrency": concurrency, "prefetch": prefetch, "max_stalled_count": kills, **IMPATIENT}
    ledger.acknowledge(job.id for job in queue.add_bulk([{"name": "brief"}] * 1500))
    workers = [start_worker(server.url, **options) for _ in range(2)]
    for kill in range(1, kills + 1):
        until("the load is on", lambda kill=kill: len(ledger.ended) > 300 * kill)
        workers.pop(0).kill()
        workers.append(start_worker(server.url, **options))
    until("all jobs are done", lambda: queue.get_completed_count() == 1500)
    # Counted by finished runs: what was only claimed ahead has not run.
    ledger.check(own_redis, queue.name, duplicates=kills * (concurrency + prefetch))


def test_a_worker_suspended_beyond_its_lock_is_fenced(queue, own_redis, ledger, start_worker, server, tmp_path):
    gate = tmp_path / "gate"
    job = queue.add("gated", {"gate": str(gate)})
    ledger.acknowledge([job.id])
    sleeper = start_worker(server.url, name="sleeper", skip_stalled_check=True, **IMPATIENT)
    until("the job runs", lambda: ledger.begun == [job.id])
    sleeper.stop()
    start_worker(server.url, name="heir", **IMPATIENT)
    until("it runs again elsewhere", lambda: ledger.begun == [job.id] * 2)
    sleeper.go_on()
    until("the sleeper learns of its loss", lambda: sleeper.said(f"could not renew lock for job {job.id}"))
    gate.touch()
    until("both have finished it", lambda: ledger.ended == [job.id] * 2)
    sleeper.terminate()
    assert sleeper.wait() == 0
    assert sleeper.said("outcome RunStats(completed=0, failed=0, retried=0")
    until("the heir's outcome is stored", lambda: queue.get_completed_count() == 1)
    assert queue.get_job(job.id).processed_by == "heir"
    ledger.check(own_redis, queue.name, duplicates=1)


def test_an_outcome_that_comes_after_the_job_was_taken_over_is_refused(
    queue, own_redis, ledger, start_worker, server, tmp_path
):
    """The sleeper's very first words after waking up are its outcome: the renewal that would tell it comes later."""
    gate = tmp_path / "gate"
    job = queue.add("gated", {"gate": str(gate)})
    ledger.acknowledge([job.id])
    sleeper = start_worker(
        server.url, name="sleeper", skip_stalled_check=True, skip_lock_renewal=True, lock_duration=600
    )
    until("the job runs", lambda: ledger.begun == [job.id])
    sleeper.stop()
    heir = start_worker(server.url, name="heir", **IMPATIENT)
    until("it runs again elsewhere", lambda: ledger.begun == [job.id] * 2)
    heir.stop()
    gate.touch()
    sleeper.go_on()
    until("the sleeper's outcome was refused", lambda: sleeper.said(f"for job {job.id}. "))
    assert completions(own_redis, queue.name) == {}
    heir.go_on()
    until("the heir's outcome is stored", lambda: queue.get_completed_count() == 1)
    assert queue.get_job(job.id).processed_by == "heir"
    ledger.check(own_redis, queue.name, duplicates=1)


def test_a_worker_suspended_beyond_its_locks_begins_none_of_its_jobs(
    queue, own_redis, ledger, start_worker, server, tmp_path
):
    gate = tmp_path / "gate"
    first = queue.add("gated", {"gate": str(gate)}).id
    rest = [job.id for job in queue.add_bulk([{"name": "quick"}] * 200)]
    ledger.acknowledge([first, *rest])
    sleeper = start_worker(server.url, prefetch=200, skip_stalled_check=True, **IMPATIENT)
    until("all are claimed", lambda: ledger.begun == [first] and own_redis.llen("bull:work:active") == 201)
    sleeper.stop()
    gate.touch()
    start_worker(server.url, **IMPATIENT)
    until("another worker has done them", lambda: queue.get_completed_count() == 201)
    sleeper.go_on()
    until("the sleeper learns of its loss", lambda: sleeper.said("could not renew lock"))
    until("its handler has returned", lambda: ledger.ended.count(first) == 2)
    sleeper.terminate()
    assert sleeper.wait() == 0
    ledger.check(own_redis, queue.name, duplicates=1)


def test_a_worker_asked_to_end_finishes_its_job(queue, own_redis, ledger, start_worker, server, tmp_path):
    gate = tmp_path / "gate"
    job = queue.add("gated", {"gate": str(gate)})
    ledger.acknowledge([job.id])
    worker = start_worker(server.url)
    until("the job runs", lambda: ledger.begun == [job.id])
    worker.terminate()
    until("it takes no more jobs", lambda: worker.said("closing after the running jobs"))
    later = queue.add("quick")
    gate.touch()
    assert worker.wait() == 0
    assert worker.said("outcome RunStats(completed=1, failed=0, retried=0")
    assert queue.get_job(later.id).get_state() == "waiting"
    assert Handlers(ledger).quick(job) == queue.get_job(job.id).returnvalue
