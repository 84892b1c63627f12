"""``record`` writes a file and ``history`` reads it, without Redis."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bullrush import Queue, Worker
from bullrush.errors import InvalidOptionError
from bullrush.recorder import History
from tests.waiting import wait_until


@pytest.fixture
def recorded(run: Callable, worked: Queue, tmp_path: Path) -> Path:
    """Return the history of a queue with a completed, a failed, a waiting and a delayed job."""
    file = tmp_path / "history.db"
    run("record", "--file", file, "--queue", worked.name, "--for", "500ms", "--json").json["queues"][worked.name]
    return file


def test_jobs_that_are_gone_are_found(run: Callable, worked: Queue, recorded: Path, monkeypatch) -> None:
    worked.obliterate(force=True)
    monkeypatch.setenv("BULLRUSH_URL", "redis://127.0.0.1:1")
    jobs = run("history", worked.name, "--file", recorded, "--json").json["jobs"]
    assert {job["job_id"]: job["outcome"] for job in jobs} == {"1": "completed", "2": "failed", "3": None, "4": None}
    for words in (["--failed"], ["--outcome", "failed"], ["--reason", "such user"], ["--name", "broken"]):
        [job] = run("history", worked.name, "--file", recorded, *words, "--json").json["jobs"]
        assert (job["job_id"], job["name"], job["reason"]) == ("2", "broken", "no such user")
    shown = run("history", worked.name, "--file", recorded)
    assert "no such user" in shown.out and "goes on" in shown.out and "Remembers since" in shown.err


def test_the_attempts_of_a_job_are_shown(run: Callable, worked: Queue, recorded: Path) -> None:
    found = run("history", worked.name, "--file", recorded, "--id", 2, "--json").json
    assert [(one["number"], one["outcome"]) for one in found["attempts"]] == [(1, "failed")]
    assert found["bars"][-1]["doing"] == "run" and found["bars"][-1]["outcome"] == "failed"
    shown = run("history", worked.name, "--file", recorded, "--id", 2)
    assert shown.err == "broken 2: failed: no such user\n"
    assert re.search(r"1  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\s+\d+  run +failed", shown.out)
    assert run("history", worked.name, "--file", recorded, "--id", 4).out.splitlines()[-1].endswith("goes on")
    missing = run("history", worked.name, "--file", recorded, "--id", 99)
    assert missing.code == 1 and "Nothing is known of job '99'" in missing.err


def test_counts_per_minute_are_shown(run: Callable, worked: Queue, recorded: Path) -> None:
    minutes = run("history", worked.name, "--file", recorded, "--minutes", "5m", "--json").json["minutes"]
    totals = {kind: sum(minute[kind] for minute in minutes) for kind in ("added", "started", "completed", "failed")}
    assert totals == {"added": 4, "started": 2, "completed": 1, "failed": 1}
    assert "stalled" in run("history", worked.name, "--file", recorded, "--minutes", "5m").out


def test_a_queue_or_a_file_that_does_not_exist_is_said(run: Callable, worked: Queue, recorded: Path) -> None:
    other = run("history", f"{worked.name}x", "--file", recorded)
    assert other.code == 1 and f"Did you mean {worked.name!r}?" in other.err
    nowhere = run("history", worked.name, "--file", recorded.parent / "nothing")
    assert nowhere.code == 2 and "bullrush record" in nowhere.err
    wrong = run("record", "--file", recorded, "--max-size", "1gigabyte")
    assert wrong.code == 2 and "is no size" in wrong.err


def test_what_masks_match_is_not_shown(run: Callable, queue: Queue, redis_url: str, tmp_path: Path) -> None:
    file = tmp_path / "history.db"

    def handle(job: object) -> None:
        raise ValueError("password=hunter2 of 4111-1111")

    queue.add("n")
    with Worker(queue.name, handle, url=redis_url) as worker:
        worker.run(until="empty")
    masks = ["--mask", "password", "--mask-text", r"\d{4}-\d{4}"]
    run("record", "--file", file, "--queue", queue.name, "--for", "500ms", *masks)
    [job] = run("history", queue.name, "--file", file, "--json").json["jobs"]
    assert job["reason"] == "password=*** of ***"


def test_a_record_ends_with_a_signal(worked: Queue, redis_url: str, tmp_path: Path) -> None:
    file = tmp_path / "history.db"
    words = [sys.executable, "-m", "bullrush", "record", redis_url, "--file", file, "--queue", worked.name, "--json"]
    recording = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:

        def completed() -> bool:
            try:
                with History(file) as history:
                    return bool(history.find(worked.name, outcome="completed"))
            except InvalidOptionError:
                return False  # it is not made yet

        wait_until(completed)
        recording.send_signal(signal.SIGTERM)
        out, said = recording.communicate(timeout=30)
    finally:
        recording.kill()
    assert recording.returncode == 0 and list(json.loads(out)["queues"]) == [worked.name]
    assert "until Ctrl-C or SIGTERM" in said
