"""What a recorder has seen, in the pages: the attempts of a job, jobs that are gone, and what comes in and goes out."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker
from bullrush.dashboard.drawing import sparkline, tracks
from bullrush.dashboard.history import Recording as OwnRecording
from bullrush.dashboard.history import usual_file
from bullrush.dashboard.history.rates import Minutes
from bullrush.dashboard.pages.life import last_life
from bullrush.errors import ConnectionLostError
from bullrush.recorder import Bar, History, Recorder
from bullrush.recorder.attempts import OUTCOMES
from tests.python.dashboard.page import Page
from tests.python.recorder.recording import Recording
from tests.waiting import wait_until


@pytest.fixture
def history(queue: Queue, recording: Recording) -> Iterator[History]:
    """Record the queue of the test, and one that belongs to it, while the test runs."""
    with recording(queues=[queue.name, f"{queue.name}-x"]) as history:
        yield history


@pytest.fixture
def seen(opened: Callable[..., Page], file: Path) -> Page:
    return opened(history=file)


def ended(history: History, queue: str, job_id: str) -> Callable[[], bool]:
    """Return a check that the end of a job was recorded."""
    return lambda: any(one.outcome in ("completed", "failed") for one in history.find(queue, job_id=job_id))


def work(queue: Queue, history: History, *ids: str, **options: Any) -> None:
    """Run all jobs: those with the name "broken" fail. Wait until it is recorded."""

    def handle(job: Any) -> None:
        if job.name == "broken":
            raise ValueError(f"no user {job.data['user']}")

    with Worker(queue.name, handle, url=queue.opts["url"], **options) as worker:
        worker.run(until="drained")
    for job_id in ids:
        wait_until(ended(history, queue.name, job_id))


def test_the_attempts_of_a_job_are_those_of_the_history(seen: Page, queue: Queue, history: History) -> None:
    queue.add("broken", {"user": "Eve"}, attempts=3, backoff={"type": "fixed", "delay": 30})
    work(queue, history, "1")
    shown = seen.json(f"/q/{queue.name}/jobs/1")
    bars = history.waterfall(queue.name, "1", queue.get_job("1").processed_on)  # type: ignore[union-attr]
    assert shown["life"]["bars"] == [vars(bar) for bar in bars]
    assert [bar.doing for bar in bars].count("back-off") == 2
    text = seen.html(f"/q/{queue.name}/jobs/1")
    # One line for each attempt, with words for who sees no picture.
    assert len(re.findall(r'<svg class="track" role="img" aria-label="[^"]*ran \d+ ms', text)) == 3
    assert text.count('class="back-off" x=') == 2 and "To the ms" in text


def test_a_job_that_is_gone_has_a_page(seen: Page, queue: Queue, history: History) -> None:
    queue.add("welcome", {"user": "Ada"}, remove_on_complete=True)
    queue.add("broken", {"user": "Eve"}, remove_on_fail=True)
    work(queue, history, "1", "2")
    assert queue.get_job("1") is None
    done, failed = (seen.json(f"/q/{queue.name}/jobs/{number}") for number in (1, 2))
    assert (done["name"], done["outcome"], done["state"]) == ("welcome", "completed", "gone")
    assert done["sentence"] == "This job is gone. It completed"
    assert (failed["outcome"], failed["reason"]) == ("failed", "no user Eve")
    assert "This job is gone. It failed for good" in seen.html(f"/q/{queue.name}/jobs/2")
    assert "it was removed, or never added" in seen.html(f"/q/{queue.name}/jobs/3", 404)


def test_jobs_that_are_gone_are_found(seen: Page, queue: Queue, history: History) -> None:
    queue.add("welcome", {}, remove_on_complete=True)
    for user in (17, 18):
        queue.add("broken", {"user": user}, remove_on_fail=True)
    work(queue, history, "1", "2", "3")
    place = f"/q/{queue.name}/history"
    for query, ids in (
        ("", {"1", "2", "3"}),
        ("?id=2", {"2"}),
        ("?name=welcome", {"1"}),
        ("?outcome=failed", {"2", "3"}),
        ("?outcome=completed&name=broken", set()),
        ("?reason=no+user", {"2", "3"}),
    ):
        found = seen.json(f"{place}{query}")
        assert {job["id"] for job in found["jobs"]} == ids, query
        assert all(f">{job_id}</a>" in seen.html(f"{place}{query}") for job_id in ids)
    kind = seen.json(f"{place}?id=2")["jobs"][0]["fingerprint"]
    assert {job["id"] for job in seen.json(f"{place}?reason={kind}")["jobs"]} == {"2", "3"}
    assert "Remembers since" in seen.html(place)
    assert "there are completed, failed" in seen.json(f"{place}?outcome=nice", 404)["error"]


def test_each_outcome_can_be_asked_for(seen: Page, queue: Queue, history: History) -> None:
    queue.add("x", {})
    work(queue, history, "1")
    assert set(seen.json(f"/q/{queue.name}/history")["outcomes"]) == set(OUTCOMES)
    for outcome in OUTCOMES:
        seen.html(f"/q/{queue.name}/history?outcome={outcome}")


def test_many_remembered_jobs_come_in_parts(seen: Page, queue: Queue, history: History) -> None:
    queue.add_bulk([{"name": "x"} for _ in range(150)])
    work(queue, history, "150")
    wait_until(lambda: len(history.find(queue.name, outcome="completed", limit=200)) == 150)
    first = seen.json(f"/q/{queue.name}/history")
    assert (len(first["jobs"]), first["more"]) == (100, True)
    more = seen.json(f"/q/{queue.name}/history?most=400")
    assert (len(more["jobs"]), more["more"]) == (150, False)
    assert "most=400" in seen.html(f"/q/{queue.name}/history")


def test_the_history_of_a_queue_that_is_gone_is_shown(seen: Page, queue: Queue, history: History) -> None:
    queue.add("x", {})
    work(queue, history, "1")
    queue.obliterate(force=True)
    assert [job["id"] for job in seen.json(f"/q/{queue.name}/history")["jobs"]] == ["1"]
    seen.json("/q/never-recorded/history", 404)


def test_what_comes_in_and_goes_out_is_on_the_first_page(seen: Page, queue: Queue, history: History) -> None:
    queue.add_bulk([{"name": "x"} for _ in range(20)])
    queue.add("broken", {"user": "Eve"})
    work(queue, history, "21")
    (line,) = [line for line in seen.json("/")["queues"] if line["queue"] == queue.name]
    rates = line["rates"]
    assert (sum(rates["completed"]), sum(rates["failed"]), len(rates["known"])) == (20, 1, 30)
    assert rates["added"] == pytest.approx(rates["ended"]) and 21 / 121 < rates["added"] < 21 / 59
    # The queue is recorded for less than a minute, so there may have been more before.
    assert rates["exact"] is False
    text = seen.html("/")
    assert ">In<th" in text and "/s</span><td" in text and "?: nothing was seen" in text
    assert "In the last 30 minutes 20 completed and 1 failed" in text


def test_what_was_counted_before_is_not_lost(queue: Queue, history: History) -> None:
    minutes = Minutes()
    for number in (1, 2):
        queue.add("x", {})
        work(queue, history, str(number))
        again, new = (one.rates(history, [queue.name])[queue.name] for one in (minutes, Minutes()))
        assert (again.completed, again.known, again.since) == (new.completed, new.known, new.since)
    assert minutes.rates(history, ["never-recorded"]) == {}


def test_children_have_lines_below_their_parent(
    seen: Page, queue: Queue, history: History, redis_url: str, opened: Callable[..., Page], file: Path
) -> None:
    below, low = {"name": "part", "queue_name": f"{queue.name}-x"}, {"name": "low", "queue_name": queue.name}
    with FlowProducer(url=redis_url) as flows, Queue(f"{queue.name}-x", url=redis_url) as other:
        middle = {**below, "children": [low]}
        root = flows.add({"name": "whole", "queue_name": queue.name, "children": [middle, below]}).job
        wait_until(lambda: len(history.find(other.name)) == 2)
        for name in (queue.name, other.name, queue.name):
            with Worker(name, lambda job: None, url=redis_url) as worker:
                worker.run(until="drained")
        wait_until(ended(history, queue.name, root.id))
        lines = seen.json(f"/q/{queue.name}/jobs/{root.id}")["life"]["children"]
        assert sorted((one["queue"], one["level"]) for one in lines) == [
            (queue.name, 2),
            (other.name, 1),
            (other.name, 1),
        ]
        assert all(one["bars"][-1]["outcome"] == "completed" for one in lines)
        alone = opened(history=file, authorize=lambda name, action, queue: queue != other.name)
        assert other.name not in alone.html(f"/q/{queue.name}/jobs/{root.id}")
        other.obliterate(force=True)


def test_without_the_right_no_reason_is_shown_and_none_can_be_searched(
    opened: Callable[..., Page], queue: Queue, history: History, file: Path
) -> None:
    queue.add("broken", {"user": "Eve"}, remove_on_fail=True)
    work(queue, history, "1")
    page = opened(history=file, authorize=lambda name, action, queue: action == "view")
    for path in (f"/q/{queue.name}/history", f"/q/{queue.name}/jobs/1"):
        assert "Eve" not in page.html(path) and "fingerprint" not in str(page.json(path))
    assert "no right 'data'" in page.json(f"/q/{queue.name}/history?reason=Eve", 403)["error"]


def test_the_history_of_a_queue_that_somebody_may_not_see_is_not_found(
    opened: Callable[..., Page], queue: Queue, history: History, file: Path
) -> None:
    queue.add("x", {})
    work(queue, history, "1")
    page = opened(history=file, authorize=lambda name, action, asked: asked == "another")
    for path in ("history", "jobs/1"):
        known, unknown = (page.html(f"/q/{name}/{path}", 404) for name in (queue.name, "no-such"))
        assert known.replace(queue.name, "") == unknown.replace("no-such", "")
    assert queue.name not in page.html("/")


def test_masked_fields_are_in_no_page_of_the_history(
    opened: Callable[..., Page], queue: Queue, history: History, file: Path
) -> None:
    queue.add("broken", {"user": "hunter2"}, remove_on_fail=True)
    queue.add("for hunter2", {"user": "hunter2"}, remove_on_complete=True)
    work(queue, history, "1", "2")
    page = opened(history=file, mask=["user"])
    for path in (f"/q/{queue.name}/history", f"/q/{queue.name}/jobs/1", f"/q/{queue.name}/jobs/2"):
        assert "hunter2" not in page.html(path) and "hunter2" not in str(page.json(path))
    # To search is to ask.
    assert "masked fields" in page.json(f"/q/{queue.name}/history?reason=hunter2", 403)["error"]


def test_what_was_not_seen_is_hatched(seen: Page, queue: Queue, redis_url: str, recording: Recording) -> None:
    with recording() as history:
        queue.add("x", {}, delay=1)
        wait_until(lambda: history.find(queue.name, job_id="1"))
    with Worker(queue.name, lambda job: None, url=redis_url) as worker:
        worker.run(until="drained")
    queue.trim_events(0)
    with recording() as history:
        queue.add("y")
        wait_until(lambda: history.find(queue.name, job_id="2"))
        shown = seen.html(f"/q/{queue.name}/jobs/1")
    assert 'class="gap"' in shown and 'fill="url(#hatch)"' in shown and "not seen" in shown


def test_without_a_history_the_pages_say_how_to_get_one(page: Page, seen: Page, worked: Queue, file: Path) -> None:
    assert "bullrush record" in page.html(f"/q/{worked.name}/history")
    assert "In/s" not in page.html("/") and "/history" not in page.html(f"/q/{worked.name}")
    assert "there is no history" in seen.html(f"/q/{worked.name}/history")
    assert seen.json(f"/q/{worked.name}/jobs/1")["life"] is None
    seen.html("/")
    file.write_text("no database, and longer than a header of one would have to be " * 10)
    assert "is no history of bullrush" in seen.html(f"/q/{worked.name}/history")


def test_a_file_that_is_made_anew_is_opened_again(seen: Page, queue: Queue, redis_url: str, file: Path) -> None:
    queue.add("x", {})
    for _ in range(2):
        for part in file.parent.glob(f"{file.name}*"):
            part.unlink()
        Recorder(file, redis_url).close()
        shown = seen.html(f"/q/{queue.name}/history")
        assert "Nothing of this queue is recorded" in shown


def test_the_command_records_and_a_second_one_reads(queue: Queue, redis_url: str, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    file = tmp_path / "bullrush" / usual_file(redis_url, "bull").name
    command = [sys.executable, "-m", "bullrush", "dashboard", redis_url]
    queue.add("welcome", {"user": "Ada"}, remove_on_complete=True)

    @contextmanager
    def dashboard(*options: str) -> Iterator[tuple[httpx.Client, str, subprocess.Popen[str]]]:
        with subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        ) as served:
            assert served.stdout is not None
            link = json.loads(served.stdout.readline())["url"]
            with httpx.Client(follow_redirects=True) as browser:
                browser.get(link)
                yield browser, link.partition("/login")[0], served
            if served.poll() is None:
                served.send_signal(signal.SIGTERM)
            served.wait(timeout=20)

    with dashboard("--json") as (browser, address, served), dashboard("--json") as (other, elsewhere, _):
        with Worker(queue.name, lambda job: None, url=redis_url) as worker:
            worker.run(until="drained")
        gone = f"/q/{queue.name}/jobs/1"
        wait_until(lambda: "It completed" in browser.get(f"{address}{gone}").text)
        assert "It completed" in other.get(f"{elsewhere}{gone}").text
        assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        served.send_signal(signal.SIGINT)
        assert served.wait(timeout=20) == 130
    with dashboard("--json", "--history", "none") as (browser, address, _):
        assert "bullrush record" in browser.get(f"{address}/q/{queue.name}/history").text


def test_a_dashboard_records_when_another_process_has_ended(file: Path, redis_url: str, queue: Queue) -> None:
    queue.add("x", {})
    first = Recorder(file, redis_url)
    recording = OwnRecording(file, redis_url, "bull", without_texts=False, try_every=0.05)
    assert "another process records" in str(recording.obstacle)
    recording.start()
    first.close()
    with History(file) as history:
        wait_until(lambda: history.find(queue.name, job_id="1"))
    assert recording.obstacle is None
    recording.stop()
    Recorder(file, redis_url).close()


@pytest.mark.parametrize("error", [sqlite3.OperationalError("the disk is full"), ConnectionLostError("gone")])
def test_a_recording_that_breaks_is_begun_again(
    file: Path, redis_url: str, queue: Queue, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.add("x", {})
    runs, run = list[int](), Recorder.run

    def breaks_once(self: Recorder) -> None:
        runs.append(1)
        if len(runs) == 1:
            raise error
        run(self)

    monkeypatch.setattr(Recorder, "run", breaks_once)
    recording = OwnRecording(file, redis_url, "bull", without_texts=False, try_every=0.05)
    recording.start()
    wait_until(lambda: file.is_file())
    with History(file) as history:
        wait_until(lambda: history.find(queue.name, job_id="1"))
    assert recording.obstacle is None and len(runs) == 2
    recording.stop()


def test_with_masks_no_text_is_recorded(file: Path, redis_url: str, queue: Queue) -> None:
    queue.add("hunter2", {"user": "hunter2"})
    recording = OwnRecording(file, redis_url, "bull", without_texts=True)
    recording.start()
    with History(file) as history:
        wait_until(lambda: history.find(queue.name, job_id="1"))
        queue.add("broken", {"user": "hunter2"})
        work(queue, history, "1", "2")
        assert {job.name for job in history.find(queue.name)} == {"***"}
    recording.stop()
    with sqlite3.connect(file) as database:
        assert "hunter2" not in "\n".join(database.iterdump())


def test_an_id_that_is_used_again_shows_its_last_life() -> None:
    old = [Bar("wait", 1, 2, 1), Bar("run", 2, 3, 1, "completed")]
    new = [Bar("wait", 5, 6, 1), Bar("gap", 6, 7, None), Bar("run", 7, 8, 1, "retried"), Bar("run", 9, None, 2)]
    assert last_life([*old, *new]) == new and last_life(new) == new and last_life([]) == []


def test_bars_of_the_waterfall_are_where_the_times_are() -> None:
    bars = [
        vars(bar) for bar in (Bar("wait", 100, 150, 1), Bar("run", 150, 200, 1, "retried"), Bar("wait", 200, None, 2))
    ]
    first, second = tracks(bars, 100, 300)
    assert [(one.doing, one.left, one.width) for one in first.segments] == [("wait", 0, 25), ("run", 25, 25)]
    assert [(one.left, one.width) for one in second.segments] == [(50, 50)]
    assert (first.outcome, second.outcome, second.text) == ("retried", None, "waited 0.1 s so far")


def test_a_sparkline_shows_each_failure_and_what_is_not_known() -> None:
    line = sparkline([0, 1_000, 0], [0, 1, 0], [False, True, True])
    assert (line.completed, line.failed, line.unknown) == ("M4 18v-17", "M4 1v-1", "M0 17.5h3")
    assert line.text.endswith("of 1 minutes something may be missing.")


def test_hostile_texts_of_a_history_run_nowhere(seen: Page, queue: Queue, history: History, redis: Redis) -> None:
    hostile = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
    queue.add(hostile, {"user": hostile}, job_id=f"a{hostile}".replace(":", ""), remove_on_complete=True)
    queue.add("broken", {"user": hostile}, remove_on_fail=True)
    work(queue, history, f"a{hostile}", "2")
    for path in (f"/q/{queue.name}/history", f"/q/{queue.name}/history?name=%22%3E%3Cimg", f"/q/{queue.name}/jobs/2"):
        assert "<img" not in seen.html(path) and "<script>" not in seen.html(path)


def test_a_job_that_is_gone_goes_on_with_nothing(seen: Page, queue: Queue, history: History, redis: Redis) -> None:
    queue.add("x", {}, delay=3_600_000)
    wait_until(lambda: history.find(queue.name, job_id="1"))
    assert seen.json(f"/q/{queue.name}/jobs/1")["life"]["goes_on"]
    redis.delete(queue.to_key("1"), queue.to_key("delayed"))
    found = seen.json(f"/q/{queue.name}/jobs/1")
    assert found["state"] == "gone" and not found["life"]["goes_on"] and found["life"]["bars"]
    assert found["life"]["end"] == found["at"] == found["life"]["bars"][-1]["end"]
    text = seen.html(f"/q/{queue.name}/jobs/1")
    assert "Its end was not seen" in text and "so far" not in text and "goes on" not in text
