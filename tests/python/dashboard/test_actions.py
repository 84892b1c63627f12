"""The buttons: what they change, who may press them, and from where."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pytest

from bullrush import Job, Queue, Worker, aio, cli
from bullrush.dashboard.source import Source
from tests.python.dashboard.page import OWN, Page
from tests.waiting import wait_until


def test_a_failed_job_is_retried(page: Page, worked: Queue) -> None:
    done = page.post(f"/q/{worked.name}/retry", id="2")
    assert worked.get_job_state("2") == "waiting"
    assert done["command"] == f"bullrush jobs retry {worked.name} 2"


def test_after_a_change_the_browser_is_led_back_to_its_page_which_says_what_was_done(page: Page, worked: Queue) -> None:
    came_from = f"/q/{worked.name}/jobs/3?format=html"
    led = page.press(f"/q/{worked.name}/retry", came_from, id="3")
    address = led.headers["location"].removeprefix("/ops")
    assert led.status_code == 303 and address.startswith(f"{came_from}&done=")
    shown = page.html(address)
    assert "Job 3 waits again" in shown and f"bullrush jobs retry {worked.name} 3" in shown
    assert "Job 3 waits again" not in page.html(came_from)


def test_after_its_job_is_removed_the_browser_is_led_to_the_queue(page: Page, worked: Queue) -> None:
    led = page.press(f"/q/{worked.name}/remove", f"/q/{worked.name}/jobs/4", id="4")
    address = led.headers["location"].removeprefix("/ops")
    assert address.startswith(f"/q/{worked.name}?done=") and "Job 4 is removed." in page.html(address)


def test_jobs_of_a_group_that_stayed_are_named_on_the_page(page: Page, worked: Queue) -> None:
    (group,) = page.json(f"/q/{worked.name}/failures")["groups"]
    led = page.press(
        f"/q/{worked.name}/failures/retry", f"/q/{worked.name}/failures", failure=group["id"], until=group["first"] - 1
    )
    shown = page.html(led.headers["location"].removeprefix("/ops"))
    assert "0 jobs wait again. 2 stayed" in shown and "2: it ran again meanwhile" in shown


def test_what_a_change_was_made_by_is_closed(page: Page, worked: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[aio.Queue] = []
    given = Source.queue_to_change
    monkeypatch.setattr(Source, "queue_to_change", lambda self, name: made.append(given(self, name)) or made[-1])
    page.post(f"/q/{worked.name}/retry", id="2")
    page.post(f"/q/{worked.name}/retry", 404, id="none")
    preview = page.post(f"/q/{worked.name}/bulk/retry", state="failed")["preview"]
    page.post(f"/q/{worked.name}/bulk/retry/confirm", preview=preview)
    assert worked.get_job_state("3") == "waiting"
    assert len(made) >= 4 and all(queue.closing for queue in made)


@pytest.mark.parametrize(
    "came_from",
    ["", "http://evil.test//evil.test/q/x", "http://ops.test//evil.test", "http://ops.test/elsewhere", "javascript:x"],
)
def test_the_browser_is_led_to_no_other_place(page: Page, worked: Queue, came_from: str) -> None:
    got = page.send("POST", f"/q/{worked.name}/pause", headers={**OWN, "Referer": came_from})
    assert re.fullmatch(rf"/ops/q/{worked.name}\?done=[\w-]+", got.headers["location"])


def test_a_notice_is_for_who_has_done_it(opened: Callable[..., Page], worked: Queue) -> None:
    page = opened(authenticate=lambda request: request.headers.get("x-name", "ada"))
    led = page.press(f"/q/{worked.name}/pause", f"/q/{worked.name}")
    address = led.headers["location"].removeprefix("/ops")
    assert "The queue is paused" in page.html(address)
    bob = page.send("GET", address, headers={"X-Name": "bob"})
    assert bob.status_code == 200 and "The queue is paused" not in bob.text
    assert "The queue is paused" not in page.html(f"/q/{worked.name}?done=guess")


def test_a_job_that_runs_is_cancelled(page: Page, queue: Queue, redis_url: str) -> None:
    job = queue.add("long")

    def stubborn(job: Job) -> None:
        wait_until(lambda: job.cancelled)
        job.check_cancelled()

    with Worker(queue.name, stubborn, url=redis_url, autorun=True):
        wait_until(lambda: queue.get_job_state(job.id) == "active")
        shown = page.html(f"/q/{queue.name}/jobs/{job.id}")
        assert "Cancel" in shown and "Remove" not in shown
        done = page.post(f"/q/{queue.name}/cancel", id=job.id)
        assert done["command"] == f"bullrush jobs cancel {queue.name} {job.id}"
        wait_until(lambda: queue.get_job_state(job.id) == "failed")
    assert "is failed" in page.post(f"/q/{queue.name}/cancel", 409, id=job.id)["error"]


def test_a_delayed_job_is_promoted(page: Page, worked: Queue) -> None:
    page.post(f"/q/{worked.name}/promote", id="5")
    assert worked.get_job_state("5") == "waiting"


def test_a_job_is_removed(page: Page, worked: Queue) -> None:
    page.post(f"/q/{worked.name}/remove", id="4")
    assert worked.get_job("4") is None


def test_a_queue_is_paused_and_resumed(page: Page, worked: Queue) -> None:
    assert page.post(f"/q/{worked.name}/pause")["command"] == f"bullrush pause {worked.name}"
    assert worked.is_paused() and "Resume" in page.html(f"/q/{worked.name}")
    page.post(f"/q/{worked.name}/resume")
    assert not worked.is_paused()


def test_exactly_the_jobs_of_a_failure_are_retried(page: Page, queue: Queue, redis_url: str) -> None:
    def fail(job: object) -> None:
        if getattr(job, "name", "") == "a":
            raise ValueError("one")
        raise KeyError("other")

    queue.add_bulk([{"name": "a" if number % 3 else "b"} for number in range(30)])
    with Worker(queue.name, fail, url=redis_url) as worker:
        worker.run(until="empty")
    groups = page.json(f"/q/{queue.name}/failures")["groups"]
    (group,) = [group for group in groups if group["names"][0]["name"] == "a"]
    done = page.post(f"/q/{queue.name}/failures/retry", failure=group["id"], until=group["last"])
    assert done["done"] == "20 jobs wait again."
    assert {job.name for job in queue.get_waiting()} == {"a"}
    assert {job.name for job in queue.get_failed()} == {"b"} and queue.get_failed_count() == 10


def test_jobs_that_failed_after_the_page_was_shown_stay(page: Page, worked: Queue) -> None:
    (group,) = page.json(f"/q/{worked.name}/failures")["groups"]
    done = page.post(f"/q/{worked.name}/failures/retry", failure=group["id"], until=group["first"] - 1)
    assert done["done"] == "0 jobs wait again. 2 stayed where they are."
    assert "ran again meanwhile" in done["stayed"][0]


def test_what_cannot_be_done_is_a_sentence(page: Page, worked: Queue) -> None:
    for verb, job_id, status, words in (
        ("retry", "4", 409, "this one is waiting"),
        ("promote", "4", 409, "This was not done"),
        ("retry", "99", 404, "was removed, or never added"),
        ("remove", "99", 404, "was removed, or never added"),
        ("retry", "", 400, "has no field 'id'"),
    ):
        assert words in page.post(f"/q/{worked.name}/{verb}", status, id=job_id)["error"]


def test_a_job_that_runs_is_not_removed(page: Page, queue: Queue, worker: Callable[..., Worker]) -> None:
    queue.add("x")
    worker().get_next_job("token")
    assert "A worker runs this job" in page.post(f"/q/{queue.name}/remove", 409, id="1")["error"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://ops.test"}, 403),
        ({"Origin": "http://ops.test"}, 200),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "https://ops.test"}, 403),
        ({"Origin": "null"}, 403),
        ({}, 403),
    ],
)
def test_a_change_comes_from_a_page_of_ours(page: Page, queue: Queue, headers: dict[str, str], status: int) -> None:
    queue.add("x")
    page.post(f"/q/{queue.name}/pause", status, headers=headers)
    assert queue.is_paused() == (status == 200)


def test_behind_a_proxy_the_origin_is_given(opened: Callable[..., Page], queue: Queue) -> None:
    queue.add("x")
    page = opened(origin="https://ops.example.org")
    page.post(f"/q/{queue.name}/pause", 403, headers={"Origin": "http://ops.test"})
    page.post(f"/q/{queue.name}/pause", headers={"Origin": "https://ops.example.org"})


def test_a_get_is_no_change(page: Page, worked: Queue) -> None:
    for path in ("retry", "pause", "failures/retry"):
        assert "is not for this address" in page.json(f"/q/{worked.name}/{path}?id=2", 405)["error"]


def test_nothing_is_changed_if_it_is_read_only(opened: Callable[..., Page], worked: Queue) -> None:
    page = opened(read_only=True)
    for verb in (
        "retry",
        "promote",
        "remove",
        "cancel",
        "pause",
        "resume",
        "failures/retry",
        "add",
        "edit",
        "bulk/retry",
    ):
        answer = page.post(f"/q/{worked.name}/{verb}", 403, id="2", failure="x", until=1)
        assert answer["error"] == "This dashboard is read-only."
    for path in (f"/q/{worked.name}", f"/q/{worked.name}/jobs/2", f"/q/{worked.name}/failures"):
        assert 'method="post"' not in page.html(path)


def test_the_command_on_the_page_does_the_same(
    page: Page, queue: Queue, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BULLRUSH_URL", redis_url)
    for job_id in ("-x", "it's", "a b"):
        queue.add("x", job_id=job_id, delay=3_600_000)
        shown = page.json(f"/q/{queue.name}/jobs/{job_id}")["commands"]
        assert cli.main(shlex.split(shown["promote"])[1:]) == 0
        assert queue.get_job_state(job_id) == "waiting"
        assert cli.main(shlex.split(shown["remove"])[1:]) == 0
        assert queue.get_job(job_id) is None


def test_a_worker_takes_what_was_retried(page: Page, queue: Queue, worker: Callable[..., Worker]) -> None:
    seen: list[int] = []

    def fail_once(job: object) -> None:
        seen.append(1)
        if len(seen) == 1:
            raise ValueError("once")

    queue.add("x")
    worker(fail_once, autorun=True)
    wait_until(lambda: queue.get_failed_count() == 1)
    page.post(f"/q/{queue.name}/retry", id="1")
    wait_until(lambda: queue.get_completed_count() == 1)
