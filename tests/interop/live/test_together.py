"""Both sides on one queue at the same time: no job lost, none run twice."""

from collections import Counter

import pytest

from tests.waiting import wait_until

from .our_worker import our_worker, work_off

JOBS = 1200


def test_two_fleets_run_each_job_exactly_once(theirs, ours, queue_name, redis_url, redis):
    ours.pause()
    half = [{"name": "work", "data": {"runs": [[["sleep", 2], ["return", n]]]}} for n in range(JOBS // 2)]
    ours.add_bulk(half)
    theirs.call("addBulk", half)
    with (
        theirs.worker(name="their-fleet", concurrency=8),
        our_worker(queue_name, redis_url, name="our-fleet", concurrency=4),
        our_worker(queue_name, redis_url, name="our-fleet", concurrency=4),
    ):
        ours.resume()
        wait_until(lambda: ours.get_completed_count() == JOBS, seconds=40)
    jobs = ours.get_completed()
    assert len({job.id for job in jobs}) == JOBS
    assert {job.processed_by for job in jobs} == {"their-fleet", "our-fleet"}
    assert {(job.attempts_started, job.attempts_made, job.stalled_counter) for job in jobs} == {(1, 1, 0)}
    events = Counter((told["event"], told.get("prev")) for _, told in redis.xrange(f"bull:{queue_name}:events"))
    # Prefetched jobs that did not start in time went back.
    assert events["active", "waiting"] - events["waiting", "active"] == JOBS
    assert events["completed", "active"] == JOBS
    assert not redis.keys(f"bull:{queue_name}:*:lock")


def test_two_fleets_share_retries_and_failures(theirs, ours, queue_name, redis_url):
    data = {"runs": [[["throw", "one"]], [["throw", "two"]], [["return", "done"]]]}
    ours.pause()
    ours.add_bulk([{"name": "work", "data": data, "opts": {"attempts": 3}} for _ in range(100)])
    theirs.call("addBulk", [{"name": "work", "data": data, "opts": {"attempts": 2}} for _ in range(100)])
    with theirs.worker(concurrency=4), our_worker(queue_name, redis_url, concurrency=4):
        ours.resume()
        wait_until(lambda: ours.get_job_counts("completed", "failed") == {"completed": 100, "failed": 100})
    assert {(job.attempts_made, len(job.stacktrace)) for job in ours.get_completed()} == {(3, 2)}
    assert {(job.attempts_made, len(job.stacktrace)) for job in ours.get_failed()} == {(2, 2)}


def test_a_global_concurrency_holds_for_both_fleets_together(theirs, ours, queue_name, redis_url, redis):
    theirs.call("setGlobalConcurrency", 3)
    most = 0

    def finished():
        nonlocal most
        most = max(most, ours.get_active_count())
        return ours.get_completed_count() == 60

    ours.add_bulk([{"name": "work", "data": {"runs": [[["sleep", 5], ["return", n]]]}} for n in range(60)])
    with theirs.worker(concurrency=5, drainDelay=1), our_worker(queue_name, redis_url, concurrency=5, drain_delay=200):
        wait_until(finished)
    assert 1 <= most <= 3


PAUSERS = [("ours", "theirs"), ("theirs", "ours"), ("ours", "ours"), ("theirs", "theirs")]


@pytest.mark.parametrize(("pauser", "resumer"), PAUSERS)
def test_no_job_is_lost_when_one_side_pauses_and_the_other_resumes(
    theirs, ours, queue_name, redis_url, pauser, resumer
):
    """While paused, version 6 adds to ``wait`` and 5.62.0 to ``paused``."""
    pause = {"ours": ours.pause, "theirs": lambda: theirs.call("pause")}
    resume = {"ours": ours.resume, "theirs": lambda: theirs.call("resume")}
    added = [ours.add("work", {"n": 0}).id, theirs.add("work", {"n": 1})]
    pause[pauser]()
    added += [ours.add("work", {"n": 2}).id, theirs.add("work", {"n": 3})]
    pause[pauser]()
    added += [ours.add("work", {"n": 4}).id, theirs.add("work", {"n": 5})]
    assert ours.get_waiting_count() == 6
    work_off(queue_name, redis_url)
    assert ours.get_completed_count() == 0
    resume[resumer]()
    ran = []
    work_off(queue_name, redis_url, lambda job: ran.append(job.id))
    assert sorted(ran) == sorted(added)


@pytest.mark.parametrize("resumer", ["ours", "theirs"])
def test_no_job_is_lost_between_all_three(old, new, ours, queue_name, redis_url, resumer):
    """A 5.x, 6.x and we add to one paused queue; the 5.x itself must not resume it."""
    added = {old.add("work", {}), new.add("work", {}), ours.add("work", {}).id}
    new.call("pause")
    added |= {old.add("work", {}), new.add("work", {}), ours.add("work", {}).id}
    ours.pause()
    added |= {new.add("work", {}), old.add("work", {}), ours.add("work", {}).id}
    ours.resume() if resumer == "ours" else new.call("resume")
    ran = []
    work_off(queue_name, redis_url, lambda job: ran.append(job.id))
    assert sorted(ran) == sorted(added)
