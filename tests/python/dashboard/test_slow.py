"""What takes long: jobs that run now, and attempts that a recorder has seen."""

from __future__ import annotations

import sqlite3
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker
from bullrush.errors import InvalidOptionError
from bullrush.recorder import History
from tests.python.dashboard.page import Page
from tests.python.recorder.recording import Recording
from tests.waiting import wait_until


@pytest.fixture
def recorded(queue: Queue, redis: Redis, recording: Recording, file: Path) -> Queue:
    """Return a queue of which 100 attempts of ``fast`` are recorded, of 1 to 100 ms, and 10 of ``slow`` of 1 to 10 s.

    A script writes the events, so that the times are exact. One attempt stalled after an hour, and one goes on.
    """
    queue.add("begins")
    begin, stream = 1_700_000_000_000, f"bull:{queue.name}:events"
    events: list[tuple[int, dict[str, object]]] = []
    for kind, count, unit in (("fast", 100, 1), ("slow", 10, 1_000)):
        for place in range(1, count + 1):
            job = f"{kind}-{place}"
            events += [
                (begin, {"event": "added", "jobId": job, "name": kind}),
                (begin, {"event": "waiting", "jobId": job}),
                (begin, {"event": "active", "jobId": job, "prev": "waiting"}),
                (begin + place * unit, {"event": "completed", "jobId": job, "returnvalue": "1", "prev": "active"}),
            ]
    events += [
        (begin, {"event": "added", "jobId": "lost", "name": "fast"}),
        (begin, {"event": "active", "jobId": "lost", "prev": "waiting"}),
        (begin + 3_600_000, {"event": "waiting", "jobId": "lost", "prev": "active"}),
        (begin + 3_600_000, {"event": "stalled", "jobId": "lost"}),
        (begin, {"event": "added", "jobId": "runs", "name": "fast"}),
        (begin, {"event": "active", "jobId": "runs", "prev": "waiting"}),
    ]
    redis.delete(stream)
    for number, (at, fields) in enumerate(sorted(events, key=lambda one: one[0])):
        redis.xadd(stream, {name: str(value) for name, value in fields.items()}, id=f"{at}-{number}")
    with recording() as history:
        wait_until(lambda: sum(one.count for one in history.slowest(queue.name)) == 110)
    return queue


def test_names_are_listed_with_how_long_their_attempts_took(
    opened: Callable[..., Page], recorded: Queue, file: Path
) -> None:
    found = opened(history=file).json(f"/q/{recorded.name}/slow")
    assert [(one["name"], one["count"]) for one in found["names"]] == [("slow", 10), ("fast", 100)]
    slow, fast = found["names"]
    assert (fast["p50"], fast["p95"], fast["most"]) == (50, 95, 100)
    assert (slow["p50"], slow["most"]) == (5_000, 10_000) and found["attempts"] == 110


def test_the_ten_slowest_attempts_lead_to_their_jobs(opened: Callable[..., Page], recorded: Queue, file: Path) -> None:
    page = opened(history=file)
    found = page.json(f"/q/{recorded.name}/slow")["slowest"]
    assert [one["id"] for one in found] == [f"slow-{number}" for number in range(10, 0, -1)]
    assert (found[0]["took"], found[0]["name"], found[0]["outcome"]) == (10_000, "slow", "completed")
    assert f"/q/{recorded.name}/jobs/slow-10" in page.html(f"/q/{recorded.name}/slow")


def test_names_are_hidden_if_fields_are_masked(opened: Callable[..., Page], recorded: Queue, file: Path) -> None:
    page = opened(history=file, mask=["password"])
    assert {one["name"] for one in page.json(f"/q/{recorded.name}/slow")["names"]} == {"***"}


def test_the_limit_of_slow_attempts_is_checked(recorded: Queue, file: Path) -> None:
    with History(file) as history:
        assert [len(one.slowest) for one in history.slowest(recorded.name, 3)] == [3, 3]
        assert history.slowest("never-recorded") == []
        with pytest.raises(InvalidOptionError):
            history.slowest(recorded.name, 0)


def test_many_attempts_need_no_more_memory_than_few(recorded: Queue, file: Path) -> None:
    columns = "name, number, claimed, ended, outcome, keep"
    with sqlite3.connect(file) as database:
        database.execute(
            "WITH RECURSIVE copies (copy) AS (SELECT 1 UNION ALL SELECT copy + 1 FROM copies WHERE copy < 300) "
            f"INSERT INTO attempts (queue, job, {columns}) SELECT queue, job || copy, {columns} "
            "FROM attempts JOIN copies WHERE ended IS NOT NULL"
        )
    database.close()
    with History(file) as history:
        tracemalloc.start()
        counted = sum(one.count for one in history.slowest(recorded.name))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert counted == 110 * 301 and most < 1_000_000, f"{counted:,} attempts needed {most:,} bytes"


def test_jobs_that_run_are_listed_without_a_history_and_it_is_said_how_to_get_one(
    page: Page, queue: Queue, worker: Callable[..., Worker]
) -> None:
    release = threading.Event()
    running: Any = worker(lambda job: release.wait(60), autorun=True, concurrency=2, name="one")
    queue.add("first")
    wait_until(lambda: queue.get_job("1").processed_on is not None)
    queue.add("second")
    wait_until(lambda: queue.get_job("2").processed_on is not None)
    found = page.json(f"/q/{queue.name}/slow")
    assert [(one["name"], one["worker"]) for one in found["running"]] == [("first", "one"), ("second", "one")]
    assert found["running"][0]["for"] >= found["running"][1]["for"] >= 0
    assert "bullrush record" in page.html(f"/q/{queue.name}/slow")
    release.set()
    running.close()


def test_the_page_of_a_queue_leads_there(page: Page, worked: Queue) -> None:
    assert f'href="/ops/q/{worked.name}/slow"' in page.html(f"/q/{worked.name}")
    page.json("/q/never-used/slow", 404)
