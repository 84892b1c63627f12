"""Tasks that run by themselves: a worker makes their job schedulers, and touches no others."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Tasks, Worker
from bullrush.errors import InvalidOptionError
from bullrush.tasks.cron import find_gone, prune
from bullrush.tasks.running.service import Turns
from tests.waiting import wait_until

EVERY_MORNING = ("0 9 * * 1-5", "Europe/Berlin")


def registry(queue: Queue, url: str, **crons: tuple[str, str]) -> Tasks:
    """Return a registry with a cron task for each name."""
    tasks = Tasks(queue.name, url=url)
    for name, (pattern, tz) in crons.items():
        tasks.cron(pattern, tz=tz, name=name, attempts=4)(lambda: None)
    tasks.task(name="other")(lambda: None)
    return tasks


def start(tasks: Tasks) -> None:
    """Run a worker until there is nothing to do."""
    with Worker(tasks) as worker:
        worker.run(until="empty")


def test_a_worker_makes_the_scheduler_of_a_cron_task(queue, redis_url):
    start(registry(queue, redis_url, digest=EVERY_MORNING))
    (made,) = queue.get_job_schedulers()
    assert (made["key"], made["name"], made["pattern"], made["tz"]) == ("digest", "digest", *EVERY_MORNING)
    (due,) = queue.get_delayed()
    assert (due.name, due.data, due.opts["attempts"]) == ("digest", {}, 4)


def test_a_scheduler_is_written_again_only_if_its_definition_changed(queue, redis: Redis, redis_url):
    def state() -> Any:
        events = redis.xlen(queue.to_key("events"))
        return events, redis.zrange(queue.to_key("repeat"), 0, -1, withscores=True)

    start(registry(queue, redis_url, digest=EVERY_MORNING))
    before = state()
    start(registry(queue, redis_url, digest=EVERY_MORNING))
    assert state() == before
    start(registry(queue, redis_url, digest=("0 10 * * 1-5", "Europe/Berlin")))
    assert state() != before
    (changed,) = queue.get_job_schedulers()
    (due,) = queue.get_delayed()
    assert changed["pattern"] == "0 10 * * 1-5"
    assert due.id == f"repeat:digest:{changed['next']}"


def test_a_scheduler_whose_code_has_gone_is_named_and_pruned_and_foreign_ones_stay(queue, redis_url, caplog):
    queue.upsert_job_scheduler("foreign", {"every": 3_600_000})
    start(registry(queue, redis_url, digest=EVERY_MORNING, report=EVERY_MORNING))
    assert "code has gone" not in caplog.text
    left = registry(queue, redis_url, digest=EVERY_MORNING)
    start(left)
    (warning,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert "whose code has gone: report" in warning.getMessage()
    assert f"bullrush schedulers {queue.name} --prune module:tasks" in warning.getMessage()
    assert len(queue.get_job_schedulers()) == 3
    assert find_gone(queue, left.crons) == ["report"]
    assert prune(queue, left.crons) == ["report"]
    assert {one["key"] for one in queue.get_job_schedulers()} == {"foreign", "digest"}
    assert prune(queue, left.crons) == []


def test_a_foreign_scheduler_with_the_name_of_a_task_stays_as_it_is(queue, redis_url, caplog):
    queue.upsert_job_scheduler("digest", {"every": 3_600_000})
    start(registry(queue, redis_url, digest=EVERY_MORNING))
    assert "no @tasks.cron or @tasks.every made" in caplog.text
    (found,) = queue.get_job_schedulers()
    assert found["every"] == 3_600_000
    assert prune(queue, []) == []


def test_a_scheduler_that_somebody_else_made_in_the_place_of_ours_stays_as_it_is(queue, redis_url, caplog):
    tasks = registry(queue, redis_url, digest=EVERY_MORNING)
    start(tasks)
    queue.remove_job_scheduler("digest")
    queue.upsert_job_scheduler("digest", {"every": 3_600_000}, {"name": "theirs"})
    start(registry(queue, redis_url))
    assert prune(queue, []) == []
    start(registry(queue, redis_url, digest=("0 10 * * *", "UTC")))
    assert "no @tasks.cron or @tasks.every made" in caplog.text
    (found,) = queue.get_job_schedulers()
    assert (found["every"], found["name"]) == (3_600_000, "theirs")


def test_a_definition_that_comes_back_is_written_again(queue, redis_url, caplog):
    for pattern in ("0 9 * * *", "0 10 * * *", "0 9 * * *"):
        start(registry(queue, redis_url, digest=(pattern, "UTC")))
        assert [one["pattern"] for one in queue.get_job_schedulers()] == [pattern]
    assert "no @tasks.cron or @tasks.every made" not in caplog.text


def test_a_scheduler_that_was_removed_by_hand_is_made_again(queue, redis_url):
    tasks = registry(queue, redis_url, digest=EVERY_MORNING)
    start(tasks)
    queue.remove_job_scheduler("digest")
    start(tasks)
    assert [one["key"] for one in queue.get_job_schedulers()] == ["digest"]


def test_schedulers_that_redis_has_lost_are_made_again_while_the_worker_runs(
    queue, redis: Redis, redis_url, caplog, monkeypatch
):
    monkeypatch.setattr("bullrush.tasks.running.service._LOOK_EVERY", 0.02)
    with Worker(registry(queue, redis_url, digest=EVERY_MORNING), autorun=True):
        wait_until(queue.get_job_schedulers)
        redis.delete(*redis.scan_iter(f"{queue.to_key('')}*"))
        wait_until(queue.get_job_schedulers)
    assert "Redis has lost the job schedulers of its tasks: they are made again" in caplog.text
    assert queue.get_delayed_count() == 1


def test_a_schedule_that_an_older_version_has_put_back_is_written_again_while_the_worker_runs(
    queue, redis_url, caplog, monkeypatch
):
    old, new = (
        registry(queue, redis_url, digest=(f"30 {hour} * * *", "UTC"), same=EVERY_MORNING, removed=EVERY_MORNING)
        for hour in (7, 8)
    )
    start(old)
    monkeypatch.setattr("bullrush.tasks.running.service._LOOK_EVERY", 0.02)

    def patterns() -> dict[str, Any]:
        return {one["key"]: one["pattern"] for one in queue.get_job_schedulers()}

    with Worker(new, autorun=True):
        wait_until(lambda: patterns()["digest"] == "30 8 * * *")
        queue.remove_job_scheduler("removed")
        start(registry(queue, redis_url, digest=("30 7 * * *", "UTC")))  # it restarts once, and ends
        wait_until(lambda: patterns() == {"digest": "30 8 * * *", "same": EVERY_MORNING[0]})
    assert "another version of the code has written the job schedulers of these tasks" in caplog.text
    assert "as the code of this worker says: digest. " in caplog.text
    (due,) = [job for job in queue.get_delayed() if job.name == "digest"]
    assert due.id == f"repeat:digest:{queue.get_job_scheduler('digest')['next']}"


def test_a_foreign_scheduler_is_left_alone_while_the_worker_runs(queue, redis_url, caplog, monkeypatch):
    monkeypatch.setattr("bullrush.tasks.running.service._LOOK_EVERY", 0.02)
    with Worker(registry(queue, redis_url, digest=EVERY_MORNING, report=EVERY_MORNING), autorun=True):
        wait_until(lambda: len(queue.get_job_schedulers()) == 2)
        queue.upsert_job_scheduler("digest", {"every": 3_600_000})
        start(registry(queue, redis_url, report=("30 7 * * *", "UTC")))
        wait_until(lambda: queue.get_job_scheduler("report")["pattern"] == EVERY_MORNING[0])
        assert queue.get_job_scheduler("digest")["every"] == 3_600_000


def test_of_two_versions_that_live_each_writes_more_and_more_rarely():
    turns, written = Turns(), 0
    for _ in range(1_000):
        if turns.is_due():
            written += 1
            turns.took()
    assert written == 10


def test_a_note_of_ours_that_is_damaged_stops_no_worker(queue, redis, redis_url):
    tasks = Tasks(queue.name, url=redis_url)
    tasks.cron("0 9 * * *", tz="UTC", name="digest")(lambda: None)
    redis.sadd(queue.to_key("ext:cron"), "digest", b"\xff", "{")
    start(tasks)
    assert [one["key"] for one in queue.get_job_schedulers()] == ["digest"]


def test_a_cron_task_runs_when_it_is_due(queue, redis_url):
    tasks = Tasks(queue.name, url=redis_url)

    @tasks.cron("* * * * * *", tz="UTC")
    async def tick(step: int = 1) -> int:
        return step

    with Worker(tasks) as worker:
        assert worker.run(max_jobs=1).completed == 1
    (done,) = queue.get_completed()
    assert (done.name, done.returnvalue, done.repeat_job_key) == ("tick", 1, "tick")


def test_a_cron_task_is_checked_where_it_is_defined(tasks):
    with pytest.raises(InvalidOptionError, match="called without arguments"):
        tasks.cron("0 9 * * *", tz="UTC")(lambda user_id: user_id)
    with pytest.raises(InvalidOptionError, match="'delay'"):
        tasks.cron("0 9 * * *", tz="UTC", name="late", delay=5)(lambda: None)
    for pattern, tz in (
        ("61 * * * *", "UTC"),
        ("0 9 * *", "UTC"),
        ("0 9 * * *", "Europe/Pariss"),
        ("0 9 * * *", None),
        ("0 0 30 2 *", "UTC"),
    ):
        with pytest.raises(InvalidOptionError, match="pattern|tz"):
            tasks.cron(pattern, tz=tz, name="wrong")(lambda: None)
    assert tasks.crons == {}


def test_obliterate_leaves_no_key_of_the_queue_or_of_its_routes(
    queue: Queue, redis: Redis, redis_url: str, worker: Callable[..., Worker]
) -> None:
    """Not of schedulers in code, of runs, of cancellations, of profiles, nor of routes."""
    tasks = Tasks(queue.name, url=redis_url)
    tasks.cron("0 0 1 1 *", tz="UTC")(pause_briefly)
    Worker(tasks, run="nightly").run(max_seconds=0.2)
    gpu: Any = {"capabilities": ["gpu"]}
    queue.add("n", target=gpu)
    queue.add("n")
    worker(lambda job: None, run="nightly", profile=gpu).run(until="drained")
    job = queue.add("n")
    redis.lmove(queue.to_key("wait"), queue.to_key("active"))
    redis.set(queue.to_key(f"{job.id}:lock"), "of a worker that is gone", px=60_000)
    assert queue.cancel_job(job.id, "no")
    queue.add("n", target=gpu)
    ours = {key.removeprefix(f"bull:{queue.name}") for key in redis.scan_iter(f"bull:{queue.name}*ext:*")}
    assert {":ext:cron", ":ext:run-nightly", "~cap.gpu:ext:run-nightly", ":ext:cancel"} <= ours
    queue.obliterate(force=True)
    assert list(redis.scan_iter(f"bull:{queue.name}*")) == []


def pause_briefly() -> None:
    """Do nothing, as the function of a scheduler."""


def test_deduplication_of_a_cron_task_is_refused_with_what_keeps_runs_apart(tasks):
    with pytest.raises(InvalidOptionError, match="set_global_concurrency"):

        @tasks.cron("* * * * *", tz="UTC", deduplication={"id": "one"})
        def clean():
            pass

    assert tasks.crons == {}


@pytest.mark.parametrize("every", [3_600_000, timedelta(hours=1)])
def test_a_task_runs_by_itself_at_an_interval(queue, redis: Redis, redis_url, caplog, every):
    def tasks(every: Any, *names: str) -> Tasks:
        made = Tasks(queue.name, url=redis_url)
        for name in names:
            made.every(every, name=name, attempts=4)(lambda: "ran")
        return made

    with Worker(tasks(every, "poll", "dropped")) as worker:
        worker.run(max_jobs=2)
    assert {job.name: job.returnvalue for job in queue.get_completed()} == {"poll": "ran", "dropped": "ran"}
    poll = queue.get_job_scheduler("poll")
    assert (poll["every"], poll["template"]["opts"]["attempts"]) == (3_600_000, 4)

    events = redis.xlen(queue.to_key("events"))
    start(tasks(every, "poll", "dropped"))
    assert redis.xlen(queue.to_key("events")) == events  # an unchanged one is only read
    assert caplog.text == ""

    start(tasks(7_200_000, "poll"))
    assert queue.get_job_scheduler("poll")["every"] == 7_200_000
    assert "@tasks.every whose code has gone: dropped" in caplog.text
    assert prune(queue, ["poll"]) == ["dropped"]

    start(registry(queue, redis_url, poll=EVERY_MORNING))
    assert queue.get_job_scheduler("poll")["pattern"] == EVERY_MORNING[0]


def test_an_interval_is_checked_where_it_is_defined(tasks):
    for every in (0, -1, "90s", None):
        with pytest.raises(InvalidOptionError, match="every"):
            tasks.every(every, name="wrong")(lambda: None)
    with pytest.raises(InvalidOptionError, match="called without arguments"):
        tasks.every(1_000)(lambda user_id: user_id)
    assert tasks.crons == {}
