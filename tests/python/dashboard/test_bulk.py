"""Changes of many jobs: a preview, then exactly those that are still as it has shown them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from bullrush import Queue, Worker, cli
from bullrush.dashboard import bulk as bulk_module
from bullrush.embedded import EmbeddedRedis
from tests.python.dashboard.page import OWN, Page
from tests.waiting import wait_until


def _fails(job: Any) -> None:
    raise ValueError(f"no user {job.id}")


@pytest.fixture
def failed(queue: Queue, redis_url: str) -> Queue:
    """Return a queue with 30 failed jobs: every third one is named ``b``, the others ``a``."""
    queue.add_bulk([{"name": "a" if number % 3 else "b"} for number in range(30)])
    with Worker(queue.name, _fails, url=redis_url) as worker:
        worker.run(until="empty")
    return queue


def preview(page: Page, queue: Queue, verb: str, state: str = "failed", **filter: str) -> str:
    return str(page.post(f"/q/{queue.name}/bulk/{verb}", state=state, **filter)["preview"])


def confirm(page: Page, queue: Queue, verb: str, id: str, status: int = 200) -> Any:
    page.post(f"/q/{queue.name}/bulk/{verb}/confirm", status, preview=id)
    wait_until(lambda: ended(page, queue, id))
    return page.json(f"/q/{queue.name}/bulk/{id}")


def ended(page: Page, queue: Queue, id: str) -> bool:
    return page.json(f"/q/{queue.name}/bulk/{id}")["ended"] is not None


def test_a_preview_says_how_many_jobs_there_are_and_changes_nothing(page: Page, failed: Queue) -> None:
    id = preview(page, failed, "retry", where="name:a")
    shown = page.html(f"/q/{failed.name}/bulk/{id}")
    assert "20 failed jobs would run again. Nothing is changed yet." in shown and "Retry these 20" in shown
    assert failed.get_failed_count() == 30


def test_all_jobs_that_fit_are_retried_and_no_other(page: Page, failed: Queue) -> None:
    done = confirm(page, failed, "retry", preview(page, failed, "retry", where="name:a*"))
    assert (done["done"], done["meanwhile"], done["count"]) == (20, 0, 20)
    assert {job.name for job in failed.get_waiting()} == {"a"} and failed.get_waiting_count() == 20
    assert {job.name for job in failed.get_failed()} == {"b"}


def test_jobs_are_retried_in_the_order_in_which_they_failed(page: Page, failed: Queue) -> None:
    order = failed.get_ranges("failed", asc=True)
    confirm(page, failed, "retry", preview(page, failed, "retry"))
    assert failed.get_ranges("waiting", asc=True) == order


def test_a_job_that_failed_again_meanwhile_stays_and_is_counted(page: Page, failed: Queue, redis_url: str) -> None:
    id = preview(page, failed, "retry")
    again, gone, waits = failed.get_ranges("failed")[:3]
    for job_id in (again, waits):
        wait_until(lambda job_id=job_id: failed.get_job(job_id).retry() is None)
    with Worker(failed.name, _fails, url=redis_url) as worker:
        worker.run(max_jobs=1)
    (still_waits,) = failed.get_ranges("waiting")
    failed.remove(gone)
    done = confirm(page, failed, "retry", id)
    assert (done["count"], done["done"], done["meanwhile"]) == (30, 27, 3)
    assert "27 of 30 failed jobs run again. 3 had moved meanwhile and were left alone." in done["sentence"]
    (failed_again,) = failed.get_ranges("failed")
    assert {still_waits, failed_again} == {again, waits}


@pytest.mark.parametrize("verb", ["retry", "remove"])
def test_a_job_stays_if_only_its_time_differs(page: Page, failed: Queue, redis: Redis, verb: str) -> None:
    id = preview(page, failed, verb)
    (job_id, *_) = failed.get_ranges("failed")
    redis.hincrby(f"bull:{failed.name}:{job_id}", "finishedOn", 1)
    done = confirm(page, failed, verb, id)
    assert (done["done"], done["meanwhile"]) == (29, 1) and failed.get_ranges("failed") == [job_id]
    assert done["reasons"] and done["reasons"][0].startswith(f"{job_id}: ")


def test_exactly_the_jobs_of_a_failure_are_meant(page: Page, queue: Queue, redis_url: str) -> None:
    def fail(job: Any) -> None:
        if job.name == "a":
            raise KeyError("one")
        raise ValueError("other")

    queue.add_bulk([{"name": "ab"[number % 2]} for number in range(10)])
    with Worker(queue.name, fail, url=redis_url) as worker:
        worker.run(until="empty")
    (one,) = [group for group in queue.failures() if group.error == "KeyError"]
    done = confirm(page, queue, "remove", preview(page, queue, "remove", failure=one.id))
    assert done["done"] == 5 and {job.name for job in queue.get_failed()} == {"b"}


@pytest.mark.parametrize("paused", [False, True])
def test_jobs_that_wait_are_removed_and_those_that_run_stay(
    page: Page, queue: Queue, worker: Callable[..., Worker], paused: bool
) -> None:
    queue.add_bulk([{"name": "x"} for _ in range(10)])
    if paused:
        queue.pause()
    id = preview(page, queue, "remove", "waiting")
    if paused:
        queue.resume()
    running = worker().get_next_job("token")
    assert running is not None
    done = confirm(page, queue, "remove", id)
    assert (done["done"], done["meanwhile"]) == (9, 1)
    assert queue.get_ranges("active") == [running.id] and queue.get_waiting_count() == 0


def test_delayed_jobs_are_promoted(page: Page, queue: Queue) -> None:
    queue.add_bulk([{"name": "x", "opts": {"delay": 3_600_000}} for _ in range(10)])
    id = preview(page, queue, "promote", "delayed")
    queue.remove("3")
    assert "delayed jobs may run now" in page.json(f"/q/{queue.name}/bulk/{id}")["sentence"]
    done = confirm(page, queue, "promote", id)
    assert (done["done"], done["meanwhile"]) == (9, 1) and queue.get_waiting_count() == 9


def test_the_next_job_of_a_scheduler_is_refused_with_a_reason(page: Page, queue: Queue) -> None:
    job = queue.upsert_job_scheduler("nightly", {"every": 3_600_000})
    assert job is not None
    state = job.get_state()
    done = confirm(page, queue, "remove", preview(page, queue, "remove", state))
    assert (done["done"], done["refused"]) == (0, 1) and "nightly" in done["reasons"][0]


def test_a_preview_is_for_who_has_asked_and_for_its_queue_and_for_one_change(
    opened: Callable[..., Page], failed: Queue
) -> None:
    page = opened(authenticate=lambda request: request.headers.get("x-name", "ada"))
    id = preview(page, failed, "retry")
    address = f"/q/{failed.name}/bulk/{id}"
    for headers in ({"X-Name": "bob"}, {"X-Name": "bob", "HX-Request": "true"}):
        assert "30 failed" in page.send("GET", address, headers={**headers, "X-Name": "ada"}).text
        assert page.send("GET", address, headers=headers).status_code == 409
    own = {"Sec-Fetch-Site": "same-origin"}
    page.post(f"{address[: -len(id)]}retry/confirm", 409, headers={**own, "X-Name": "bob"}, preview=id)
    page.post(f"/q/{failed.name}/bulk/remove/confirm", 409, preview=id)
    page.post(f"/q/{failed.name}-x/bulk/retry/confirm", 409, preview=id)
    assert failed.get_failed_count() == 30


def test_a_reason_that_names_a_queue_of_others_is_not_told(
    opened: Callable[..., Page], failed: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> list[Exception | None]:
        return [bulk_module.BullrushError("WRONGTYPE bull:elsewhere:7:dependencies")]

    monkeypatch.setattr(bulk_module, "change_seen", refuse)
    monkeypatch.setattr(bulk_module, "_PART", 1)
    page = opened(authorize=lambda name, action, queue: queue == failed.name)
    id = preview(page, failed, "retry")
    confirm(page, failed, "retry", id)
    texts = [*page.all_of(f"/q/{failed.name}/bulk/{id}"), *page.all_of("/audit")]
    assert [text for text in texts if "elsewhere" in text] == []
    assert "names a queue that you may not see" in texts[0]


def test_a_change_of_many_is_made_once(page: Page, failed: Queue) -> None:
    id = preview(page, failed, "retry")
    confirm(page, failed, "retry", id)
    assert "was begun already" in page.post(f"/q/{failed.name}/bulk/retry/confirm", 409, preview=id)["error"]


def test_a_second_run_ends_what_was_stopped_half_way(
    page: Page, failed: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_module, "_PART", 10)
    whole = bulk_module.Bulk._change

    async def change_and_stop(self: Any, queue: Any, part: Any) -> None:
        await whole(self, queue, part)
        raise bulk_module.BullrushError("killed")

    monkeypatch.setattr(bulk_module.Bulk, "_change", change_and_stop)
    first = confirm(page, failed, "retry", preview(page, failed, "retry"))
    assert first["done"] == 10 and "stopped before its end" in first["sentence"]
    monkeypatch.setattr(bulk_module.Bulk, "_change", whole)
    second = confirm(page, failed, "retry", preview(page, failed, "retry"))
    assert (second["count"], second["done"]) == (20, 20)
    assert failed.get_waiting_count() == len(set(failed.get_ranges("waiting"))) == 30


def test_redis_goes_away_before_it_is_confirmed(opened: Callable[..., Page]) -> None:
    with EmbeddedRedis(port=0, password="") as server:
        page = opened(server.url, timeout=300)
        with Queue("mail", url=server.url) as queue:
            queue.add_bulk([{"name": "x"}] * 3)
            seen = preview(page, queue, "remove", state="waiting")
        server.kill()
        done = confirm(page, queue, "remove", seen)
    assert done["trouble"] == "Redis does not answer." and done["done"] == 0
    assert "Make the preview again for the rest." in done["sentence"]


@contextmanager
def served(redis_url: str, audit: Path) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """Run the command, and log in."""
    words = ["dashboard", redis_url, "--json", "--history", "none", "--audit", str(audit)]
    with subprocess.Popen([sys.executable, "-m", "bullrush", *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link = json.loads(process.stdout.readline())["url"]
        address = link.partition("/login")[0]
        headers = {"Accept": "application/json", **OWN}
        with httpx.Client(base_url=address, headers=headers, timeout=60) as browser:
            browser.get(link)
            yield browser, process
        process.kill()


def test_after_a_kill_a_second_run_ends_it_and_no_job_moves_twice(
    queue: Queue, redis: Redis, redis_url: str, tmp_path: Path
) -> None:
    audit, most = tmp_path / "audit.jsonl", 10_000
    for _ in range(4):
        queue.add_bulk([{"name": "x", "opts": {"delay": 3_600_000}} for _ in range(most // 4)])
    path, wait = f"/q/{queue.name}/bulk", f"bull:{queue.name}:wait"
    with served(redis_url, audit) as (browser, process):
        first = browser.post(f"{path}/promote", data={"state": "delayed"}).json()["preview"]
        asking = threading.Thread(target=_ask_and_be_cut_off, args=(browser, f"{path}/promote/confirm", first))
        asking.start()
        wait_until(lambda: redis.llen(wait) > 0)
        process.kill()
        asking.join()
    assert 0 < redis.llen(wait) < most
    with served(redis_url, audit) as (browser, _):
        second = browser.post(f"{path}/promote", data={"state": "delayed"}).json()["preview"]
        browser.post(f"{path}/promote/confirm", data={"preview": second})
        wait_until(lambda: browser.get(f"{path}/{second}").json()["ended"] is not None, seconds=60)
        done = browser.get(f"{path}/{second}").json()
    assert (done["done"], done["meanwhile"]) == (done["count"], 0) and done["count"] < most
    ids = redis.lrange(wait, 0, -1)
    assert len(ids) == len(set(ids)) == most and redis.zcard(f"bull:{queue.name}:delayed") == 0
    (line,) = [json.loads(text) for text in audit.read_text().splitlines()]
    assert (line["what"], line["counts"]["done"]) == ("promote many", done["done"])


def _ask_and_be_cut_off(browser: httpx.Client, path: str, preview: str) -> None:
    with suppress(httpx.HTTPError):
        browser.post(path, data={"preview": preview})


def test_what_cannot_be_meant_is_a_sentence(page: Page, failed: Queue) -> None:
    for verb, given, status, words in (
        ("retry", {"state": "waiting"}, 409, "failed or completed"),
        ("promote", {"state": "failed"}, 409, "delayed"),
        ("remove", {"state": "active"}, 409, "not 'active'"),
        ("remove", {}, 400, "no field 'state'"),
        ("remove", {"state": "waiting", "failure": "x"}, 409, "Only failed jobs"),
        ("retry/confirm", {"preview": "guess"}, 409, "make it again"),
    ):
        assert words in page.post(f"/q/{failed.name}/bulk/{verb}", status, **given)["error"]
    assert failed.get_failed_count() == 30


def test_old_previews_are_forgotten(page: Page, failed: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_module, "_MOST_IN_ALL", 60)
    ids = [preview(page, failed, "retry") for _ in range(3)]
    assert [page.send("GET", f"/q/{failed.name}/bulk/{id}").status_code for id in ids] == [409, 200, 200]


def test_the_browser_goes_from_the_queue_to_the_preview_and_to_the_result(page: Page, failed: Queue) -> None:
    queue_page = page.html(f"/q/{failed.name}?state=failed&where=name:a")
    assert "Retry all that fit" in queue_page and f"/q/{failed.name}/bulk/retry" in queue_page
    led = page.press(f"/q/{failed.name}/bulk/retry", f"/q/{failed.name}?state=failed", state="failed", where="name:a")
    address = led.headers["location"].removeprefix("/ops")
    id = re.fullmatch(rf"/q/{failed.name}/bulk/([\w-]+)", address)
    assert led.status_code == 303 and id is not None
    led = page.press(f"/q/{failed.name}/bulk/retry/confirm", address, preview=id[1])
    assert led.headers["location"] == f"/ops{address}" and "20 of 20 failed jobs run again." in page.html(address)


def test_the_command_of_a_preview_means_the_same_jobs(
    page: Page, failed: Queue, redis_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BULLRUSH_URL", redis_url)
    id = preview(page, failed, "retry", where="name:b")
    command = page.json(f"/q/{failed.name}/bulk/{id}")["command"]
    assert cli.main([*shlex.split(command)[1:], "--yes", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["done"]) == 10
    assert page.json(f"/q/{failed.name}/bulk/{id}")["count"] == 10
