"""Job schedulers of one side worked by the other, and by both at once: no slot is lost, none is added twice."""

from itertools import pairwise

import pytest

from tests.waiting import wait_until

from .our_worker import our_worker

EVERY = 150
TEMPLATE = {"name": "tick", "data": {"n": 1}, "opts": {"attempts": 2, "removeOnFail": True}}
OUR_TEMPLATE = {**TEMPLATE, "opts": {"attempts": 2, "remove_on_fail": True}}


def slots(ours, scheduler_id="s"):
    """Return the times of the finished jobs of a scheduler."""
    jobs = [job for job in ours.get_completed() if job.repeat_job_key == scheduler_id]
    assert {(job.name, job.attempts_started) for job in jobs} <= {("tick", 1)}
    return sorted(int(job.id.rpartition(":")[2]) for job in jobs)


def assert_complete_series(ours, every, scheduler_id="s"):
    times = slots(ours, scheduler_id)
    gaps = {later - earlier for earlier, later in pairwise(times)}
    # A late worker skips slots, but stays on the grid.
    assert all(gap > 0 and gap % every == 0 for gap in gaps), times
    scheduler = ours.get_job_scheduler(scheduler_id)
    assert scheduler["iteration_count"] == len(times) + 1
    waiting = [job for job in ours.get_jobs(["delayed", "waiting"]) if job.repeat_job_key == scheduler_id]
    assert [job.id for job in waiting] == [f"repeat:{scheduler_id}:{scheduler['next']}"]
    assert [job.opts["repeat"].get("dst") for job in waiting] == [scheduler.get("dst")]


@pytest.mark.parametrize(
    "repeat", [{"every": EVERY}, {"pattern": "* * * * * *", "tz": "Asia/Tokyo", "dst": "bullmq"}], ids=str
)
def test_their_workers_run_our_scheduler(theirs, ours, repeat):
    ours.upsert_job_scheduler("s", repeat, OUR_TEMPLATE)
    with theirs.worker(concurrency=2):
        wait_until(lambda: ours.get_completed_count() >= 3)
    assert_complete_series(ours, repeat.get("every", 1000))


@pytest.mark.parametrize("repeat", [{"every": EVERY}, {"pattern": "* * * * * *", "tz": "Asia/Tokyo"}], ids=str)
def test_our_workers_run_their_scheduler(theirs, ours, queue_name, redis_url, repeat):
    theirs.call("upsertJobScheduler", "s", repeat, TEMPLATE)
    with our_worker(queue_name, redis_url, concurrency=2):
        wait_until(lambda: ours.get_completed_count() >= 3)
    assert_complete_series(ours, repeat.get("every", 1000))


def test_all_three_work_and_change_the_same_schedulers(old, new, ours, queue_name, redis_url):
    ours.upsert_job_scheduler("ours", {"every": EVERY}, OUR_TEMPLATE)
    old.call("upsertJobScheduler", "old", {"every": EVERY}, TEMPLATE)
    new.call("upsertJobScheduler", "new", {"every": EVERY}, TEMPLATE)
    with old.worker(), new.worker(), our_worker(queue_name, redis_url), our_worker(queue_name, redis_url):
        wait_until(lambda: ours.get_completed_count() >= 30)
        for scheduler_id in ("ours", "old", "new"):
            ours.upsert_job_scheduler(scheduler_id, {"every": EVERY}, OUR_TEMPLATE)
            old.call("upsertJobScheduler", scheduler_id, {"every": EVERY}, TEMPLATE)
            new.call("upsertJobScheduler", scheduler_id, {"every": EVERY}, TEMPLATE)
        done = ours.get_completed_count()
        wait_until(lambda: ours.get_completed_count() >= done + 15)
    for scheduler_id in ("ours", "old", "new"):
        times = slots(ours, scheduler_id)
        assert len(set(times)) == len(times) > 5
        waiting = [job for job in ours.get_jobs(["delayed", "waiting"]) if job.repeat_job_key == scheduler_id]
        assert len(waiting) == 1
    assert ours.get_failed_count() == 0


def test_both_read_the_same_schedulers(theirs, ours):
    repeat = {"pattern": "0 0 3 * * *", "tz": "Europe/Paris", "limit": 7}
    ours.upsert_job_scheduler("s", repeat, {"name": "tick", "data": {"n": 1}, "opts": {"attempts": 2, "keep_logs": 3}})
    theirs.call("upsertJobScheduler", "t", {"every": 60_000}, {"name": "tock"})
    read = {one["key"]: one for one in theirs.call("getJobSchedulers")}
    for one in ours.get_job_schedulers():
        other = read[one["key"]]
        assert [one[name] for name in ("name", "next")] == [other[name] for name in ("name", "next")]
        assert one["iteration_count"] == other["iterationCount"]
    assert read["s"]["template"] == {"data": {"n": 1}, "opts": {"attempts": 2, "keepLogs": 3}}
    assert (read["s"]["pattern"], read["s"]["tz"], read["s"]["limit"]) == ("0 0 3 * * *", "Europe/Paris", 7)
    assert ours.get_job_schedulers_count() == theirs.call("getJobSchedulersCount") == 2
    assert theirs.call("removeJobScheduler", "s") is True
    assert ours.remove_job_scheduler("t") is True
    assert ours.get_job_schedulers() == theirs.call("getJobSchedulers") == []


def test_their_old_repeatables_are_listed_run_and_removed(old, ours, queue_name, redis_url):
    end = 4_000_000_000_000
    old.call(
        "add", "daily", {}, {"repeat": {"pattern": "0 3 * * *", "tz": "Europe/Paris", "endDate": end}, "jobId": "j"}
    )
    old.call("add", "often", {}, {"repeat": {"every": 200, "limit": 3}})
    names = {"end_date": "endDate"}
    listed = [{names.get(name, name): value for name, value in one.items()} for one in ours.get_repeatable_jobs()]
    assert listed == old.call("getRepeatableJobs")
    with our_worker(queue_name, redis_url):
        wait_until(lambda: ours.get_completed_count() == 3)
    often = next(one["key"] for one in ours.get_repeatable_jobs() if one["name"] == "often")
    assert ours.remove_repeatable_by_key(often) is True
    daily = {"pattern": "0 3 * * *", "tz": "Europe/Paris", "end_date": end}
    assert ours.remove_repeatable("daily", daily) is False
    assert ours.remove_repeatable("daily", daily, "j") is True
    assert old.call("getRepeatableJobs") == []
    assert ours.get_delayed_count() == 0
