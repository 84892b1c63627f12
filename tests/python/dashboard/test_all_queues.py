"""Failures, workers and schedulers over all queues that somebody may see."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker
from bullrush._core import now_ms
from bullrush.base.operation import run_blocking
from bullrush.dashboard.pages.all import failures as failures_module
from bullrush.inspection import stopped
from tests.python.dashboard.page import Page
from tests.python.recorder.recording import Recording
from tests.waiting import wait_until


def _refuse(job: Any) -> None:
    if job.name == "slow":
        raise TimeoutError(f"no answer for {job.id}")
    raise ValueError(f"no user {job.id}")


@pytest.fixture
def two(queue_name: str, redis_url: str) -> Iterator[tuple[Queue, Queue]]:
    """Return two queues: three jobs of one and one of the other failed in the same way, another one otherwise."""
    queues = Queue(f"{queue_name}-a", url=redis_url), Queue(f"{queue_name}-b", url=redis_url)
    for queue, names in zip(queues, (["pay", "pay", "ship"], ["pay", "slow"]), strict=True):
        queue.add_bulk([{"name": name} for name in names])
        with Worker(queue.name, _refuse, url=redis_url, name=f"at-{queue.name}") as worker:
            worker.run(until="empty")
    yield queues
    for queue in queues:
        queue.obliterate(force=True)
        queue.close()


def groups(page: Page, *queues: Queue) -> list[Any]:
    names = {queue.name for queue in queues}
    return [one for one in page.json("/failures")["groups"] if {part["queue"] for part in one["queues"]} & names]


def test_the_same_failure_of_several_queues_is_one(page: Page, two: tuple[Queue, Queue]) -> None:
    first, second = groups(page, *two)
    assert (first["count"], second["count"]) == (4, 1)
    assert [(part["queue"], part["count"]) for part in first["queues"]] == [(two[0].name, 3), (two[1].name, 1)]
    assert first["names"] == [{"name": "pay", "count": 3}, {"name": "ship", "count": 1}]
    assert sum(first["minutes"]) == 4 and first["first"] <= first["last"]


def test_a_failure_names_the_worker_that_had_connected_shortly_before(
    page: Page, queue: Queue, worker: Callable[..., Worker]
) -> None:
    worker(_refuse, autorun=True, name="version-3")
    wait_until(lambda: queue.get_workers_count() == 1)
    queue.add("pay")
    wait_until(lambda: queue.get_failed_count() == 1)
    (group,) = groups(page, queue)
    assert group["onset"]["worker"] == "version-3" and 0 <= group["onset"]["before"] <= 120_000
    assert "the worker version-3" in page.html("/failures")


def test_from_there_exactly_the_jobs_of_one_queue_are_retried(page: Page, two: tuple[Queue, Queue]) -> None:
    first, _ = groups(page, *two)
    part = first["queues"][1]
    led = page.press(f"/q/{part['queue']}/failures/retry", "/failures", failure=first["id"], until=part["last"])
    assert re.fullmatch(r"/ops/failures\?done=[\w-]+", led.headers["location"])
    assert "1 job waits again." in page.html(led.headers["location"].removeprefix("/ops"))
    assert two[1].get_waiting_count() == 1 and two[0].get_failed_count() == 3


def test_failures_are_of_queues_whose_data_somebody_may_see(
    opened: Callable[..., Page], two: tuple[Queue, Queue]
) -> None:
    page = opened(authorize=lambda name, action, queue: action == "view" or queue == two[1].name)
    found = groups(page, *two)
    assert {part["queue"] for one in found for part in one["queues"]} == {two[1].name}
    assert two[0].name not in page.html("/failures")


def test_it_says_which_queues_were_not_looked_at(
    page: Page, two: tuple[Queue, Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures_module, "_MOST_QUEUES", 1)
    assert page.json("/failures")["left_out"] >= 1
    assert "not looked at" in page.html("/failures")


@pytest.fixture
def busy(queue: Queue, worker: Callable[..., Worker]) -> Iterator[threading.Event]:
    """Let two workers run three jobs until the event is set."""
    release = threading.Event()
    worker(lambda job: release.wait(60), autorun=True, name="one", concurrency=2)
    wait_until(lambda: queue.get_workers_count() == 1)
    queue.add_bulk([{"name": "a"}, {"name": "a"}])
    wait_until(lambda: queue.get_active_count() == 2)
    worker(lambda job: release.wait(60), autorun=True, name="two", concurrency=2)
    queue.add("b")
    wait_until(lambda: queue.get_active_count() == 3)
    wait_until(lambda: all(job.processed_by for job in queue.get_active()))
    yield release
    release.set()


def workers_of(page: Page, queue: Queue, kind: str) -> dict[str, Any]:
    return {one["name"]: one for one in page.json("/workers")[kind] if one["queues"] == [queue.name]}


def test_each_worker_shows_what_it_holds_and_for_how_long(page: Page, queue: Queue, busy: threading.Event) -> None:
    found = workers_of(page, queue, "workers")
    assert {name: [job["name"] for job in one["holds"]] for name, one in found.items()} == {
        "one": ["a", "a"],
        "two": ["b"],
    }
    job = found["two"]["holds"][0]
    assert job["for"] >= 0 and 0 < job["lock_left"] <= 30_000 and job["queue"] == queue.name
    assert found["one"]["address"] != found["two"]["address"] and found["one"]["connected"] is not None
    shown = page.html("/workers")
    assert "two" in shown and f"/q/{queue.name}/jobs/3" in shown


def test_a_worker_that_holds_nothing_is_shown_as_such(page: Page, queue: Queue, worker: Callable[..., Worker]) -> None:
    worker(lambda job: None, autorun=True, name="idle")
    wait_until(lambda: queue.get_workers_count() == 1)
    (one,) = workers_of(page, queue, "others").values()
    assert (one["name"], one["holds_none"]) == ("idle", True)


def test_workers_of_one_name_are_told_apart_by_their_locks_and_not_guessed(
    page: Page, queue: Queue, worker: Callable[..., Worker]
) -> None:
    release = threading.Event()
    for count in (1, 2):
        worker(lambda job: release.wait(60), autorun=True, name="same")
        wait_until(lambda count=count: queue.get_workers_count() == count)
        queue.add("x")
        wait_until(lambda count=count: queue.get_active_count() == count)
    wait_until(lambda: all(job.processed_by for job in queue.get_active()))
    found = [one for one in page.json("/workers")["workers"] if one["queues"] == [queue.name]]
    assert [len(one["holds"]) for one in found] == [1, 1] and [one["address"] for one in found] == [None, None]
    assert {one["holds_none"] for one in page.json("/workers")["others"] if one["queues"] == [queue.name]} == {False}
    release.set()


def test_a_job_whose_lock_has_ended_is_held_by_nobody(
    opened: Callable[..., Page], queue_name: str, worker: Callable[..., Worker], redis: Any, redis_url: str
) -> None:
    # The page reads the queues in which most jobs run: with this prefix there is one.
    page = opened(prefix=queue_name)
    with Queue(queue_name, url=redis_url, prefix=queue_name) as queue:
        queue.add("x")
        job = worker(prefix=queue_name).get_next_job("token:1")
        assert job is not None
        redis.delete(f"{queue_name}:{queue_name}:{job.id}:lock")
        (lost,) = page.json("/workers")["lost"]
        assert lost["id"] == job.id and "held by nobody" in page.html("/workers")
        queue.obliterate(force=True)


def scheduler_of(page: Page, queue: Queue, id: str) -> Any:
    (found,) = [one for one in page.json("/schedulers")["schedulers"] if (one["queue"], one["id"]) == (queue.name, id)]
    return found


def test_a_scheduler_shows_its_next_three_runs(page: Page, queue: Queue) -> None:
    queue.upsert_job_scheduler("hourly", {"every": 3_600_000})
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *", "tz": "UTC"})
    queue.upsert_job_scheduler("twice", {"every": 3_600_000, "limit": 2})
    hourly, nightly = scheduler_of(page, queue, "hourly")["next"], scheduler_of(page, queue, "nightly")["next"]
    assert hourly == [hourly[0] + number * 3_600_000 for number in range(len(hourly))] and len(hourly) > 1
    assert len(nightly) == 3 and {at % 86_400_000 for at in nightly} == {3 * 3_600_000}
    assert nightly[2] - nightly[0] == 2 * 86_400_000
    assert len(scheduler_of(page, queue, "twice")["next"]) <= 2 < 3 == len(nightly)


def test_a_scheduler_is_run_now_and_shows_how_that_ended(page: Page, queue: Queue, redis_url: str) -> None:
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 1 1 *"}, {"name": "pay"})
    one = scheduler_of(page, queue, "nightly")
    assert one["last"] == {"id": None, "outcome": None} and one["may_run"]
    led = page.press(f"/q/{queue.name}/promote", "/schedulers", id=one["latest"])
    assert led.headers["location"].startswith("/ops/schedulers?done=")
    with Worker(queue.name, _refuse, url=redis_url) as worker:
        worker.run(max_jobs=1)
    assert scheduler_of(page, queue, "nightly")["last"]["outcome"] == "failed"
    assert ">failed</a>" in page.html("/schedulers")


def test_the_last_run_is_known_from_the_history_when_its_job_is_gone(
    opened: Callable[..., Page], queue: Queue, redis_url: str, recording: Recording, file: Any
) -> None:
    with recording() as history:
        job = queue.upsert_job_scheduler(
            "nightly", {"pattern": "0 3 1 1 *"}, {"name": "x", "opts": {"remove_on_complete": True}}
        )
        assert job is not None
        job.promote()
        with Worker(queue.name, lambda job: None, url=redis_url) as worker:
            worker.run(max_jobs=1)
        wait_until(lambda: bool(history.find(queue.name, outcome="completed")))
    assert scheduler_of(opened(), queue, "nightly")["last"]["outcome"] is None
    assert scheduler_of(opened(history=file), queue, "nightly")["last"]["outcome"] == "completed"


def test_a_scheduler_that_makes_no_more_jobs_is_marked_with_the_reason(page: Page, queue: Queue, redis: Redis) -> None:
    queue.upsert_job_scheduler("hourly", {"pattern": "0 * * * *"})
    job = queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *", "tz": "UTC"})
    ended = queue.upsert_job_scheduler("late", {"pattern": "0 3 * * *", "tz": "UTC"})
    redis.delete(queue.to_key(job.id))
    redis.zrem(queue.to_key("delayed"), job.id, ended.id)
    redis.zadd(queue.to_key("repeat"), {"late": 1_000})
    redis.hset(queue.to_key("repeat:late:1000"), mapping={"name": "x", "timestamp": 1, "finishedOn": 2_000})
    own = {one["id"]: one["stopped"] for one in page.json(f"/q/{queue.name}/schedulers")["schedulers"]}
    assert own["hourly"] is None
    assert "its latest one was removed" in own["nightly"] and "Write the scheduler again" in own["nightly"]
    assert "its latest one has ended, and nobody has added the next one" in own["late"]
    for id, why in own.items():
        shown = scheduler_of(page, queue, id)
        assert shown["stopped"] == why and bool(shown["next"]) is (why is None)
        assert shown["may_run"] is (why is None)
    for path in ("/schedulers", f"/q/{queue.name}/schedulers"):
        assert page.html(path).count("✕</i> stopped</strong>") == 2


def test_a_scheduler_that_goes_on_between_two_reads_is_not_marked(queue: Queue) -> None:
    queue.upsert_job_scheduler("hourly", {"every": 3_600_000})
    seen = {**queue.get_job_scheduler("hourly"), "next": 1_000}
    assert run_blocking(stopped(queue.core, [seen], now_ms())) == {}


def test_nobody_may_run_now_without_the_right(opened: Callable[..., Page], queue: Queue) -> None:
    queue.upsert_job_scheduler("hourly", {"every": 3_600_000})
    page = opened(authorize=lambda name, action, queue: action == "view")
    assert not scheduler_of(page, queue, "hourly")["may_run"] and "Run now" not in page.html("/schedulers")


def test_the_header_leads_to_all_of_them(page: Page, worked: Queue) -> None:
    shown = page.html(f"/q/{worked.name}")
    for place in ("failures", "workers", "schedulers", "audit", "about"):
        assert f'href="/ops/{place}"' in shown
