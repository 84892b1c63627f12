"""The audit: who has changed what, from where, and who may see that."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bullrush import Queue
from tests.python.dashboard.page import Page
from tests.waiting import wait_until


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "state" / "audit.jsonl"


def lines(page: Page, **headers: str) -> list[Any]:
    got = page.send("GET", "/audit", headers={"Accept": "application/json", **headers})
    assert got.status_code == 200
    return list(got.json()["lines"])


def retry_many(page: Page, queue: Queue, **filter: str) -> None:
    id = page.post(f"/q/{queue.name}/bulk/retry", state="failed", **filter)["preview"]
    page.post(f"/q/{queue.name}/bulk/retry/confirm", preview=id)
    wait_until(lambda: page.json(f"/q/{queue.name}/bulk/{id}")["ended"] is not None)


def test_a_change_leaves_one_line_that_says_who_what_and_from_where(page: Page, worked: Queue) -> None:
    page.post(f"/q/{worked.name}/retry", id="2")
    (line,) = lines(page)
    assert (line["who"], line["source"], line["queue"]) == ("ada", "127.0.0.1", worked.name)
    assert (line["what"], line["job"], line["done"]) == ("retry", "2", True)
    assert line["outcome"] == "Job 2 waits again, and runs when a worker has a free slot."
    shown = page.html("/audit")
    assert "ada" in shown and "Job 2 waits again" in shown


def test_a_change_of_many_leaves_one_line_with_its_filter_and_counts(page: Page, worked: Queue) -> None:
    retry_many(page, worked, where="name:broken")
    (line,) = lines(page)
    assert line["what"] == "retry many" and line["filter"] == {"state": "failed", "where": "name:broken"}
    assert line["counts"] == {"seen": 2, "done": 2, "meanwhile": 0, "refused": 0}
    assert line["outcome"] == "2 of 2 failed jobs run again."


def test_a_group_of_failures_leaves_one_line_with_its_counts(page: Page, worked: Queue) -> None:
    (group,) = page.json(f"/q/{worked.name}/failures")["groups"]
    page.post(f"/q/{worked.name}/failures/retry", failure=group["id"], until=group["last"])
    (line,) = lines(page)
    assert (line["what"], line["filter"]) == ("failures retry", {"failure": group["id"]})
    assert line["counts"]["done"] == 2


def test_what_was_refused_is_noted_and_what_was_not_allowed_is_not(opened: Callable[..., Page], worked: Queue) -> None:
    page = opened(authorize=lambda name, action, queue: action != "remove")
    page.post(f"/q/{worked.name}/promote", 409, id="4")
    page.post(f"/q/{worked.name}/remove", 403, id="4")
    page.post(f"/q/{worked.name}/pause", 403, headers={"Sec-Fetch-Site": "cross-site"})
    (line,) = lines(page)
    assert (line["what"], line["done"]) == ("promote", False) and "This was not done" in line["outcome"]


def test_a_look_and_a_preview_leave_no_line(page: Page, worked: Queue) -> None:
    page.post(f"/q/{worked.name}/bulk/retry", state="failed")
    page.html(f"/q/{worked.name}")
    assert lines(page) == []


def test_the_newest_line_is_first(page: Page, worked: Queue) -> None:
    for verb in ("pause", "resume"):
        page.post(f"/q/{worked.name}/{verb}")
    assert [line["what"] for line in lines(page)] == ["resume", "pause"]


def test_a_line_is_for_who_may_see_its_queue_and_run_jobs_there(opened: Callable[..., Page], worked: Queue) -> None:
    rights = {
        "ada": {worked.name: {"view", "pause", "run"}},
        "viewer": {worked.name: {"view", "data"}},
        "stranger": {"another": {"view", "run"}},
    }
    page = opened(
        authenticate=lambda request: request.headers.get("x-name", "ada"),
        authorize=lambda name, action, queue: action in rights[name].get(queue, ()),
    )
    page.post(f"/q/{worked.name}/pause")
    assert len(lines(page)) == 1
    for name in ("viewer", "stranger"):
        assert lines(page, **{"X-Name": name}) == []
        assert worked.name not in page.send("GET", "/audit", headers={"X-Name": name}).text


def test_the_file_keeps_the_lines_for_its_user_alone(opened: Callable[..., Page], worked: Queue, kept: Path) -> None:
    page = opened(audit=kept)
    assert lines(page) == []
    page.post(f"/q/{worked.name}/pause")
    page.post(f"/q/{worked.name}/resume")
    written = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [line["what"] for line in written] == ["pause", "resume"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    again = opened(audit=kept)
    assert [line["what"] for line in lines(again)] == ["resume", "pause"]
    assert lines(opened(audit=kept, prefix="other")) == []


def test_a_broken_line_hides_no_other(opened: Callable[..., Page], worked: Queue, kept: Path) -> None:
    page = opened(audit=kept)
    page.post(f"/q/{worked.name}/pause")
    with kept.open("a") as file:
        file.write('{"at": 1}\n[]\n{"who": "a')
    assert [line["what"] for line in lines(page)] == ["pause"]


def test_a_file_that_cannot_be_written_stops_no_change_and_is_said(
    opened: Callable[..., Page], worked: Queue, tmp_path: Path
) -> None:
    page = opened(audit=tmp_path)
    page.post(f"/q/{worked.name}/pause")
    assert worked.is_paused() and [line["what"] for line in lines(page)] == ["pause"]
    assert "cannot be written" in page.html("/audit")


def test_no_masked_text_is_noted(opened: Callable[..., Page], worked: Queue, kept: Path) -> None:
    page = opened(mask=["password"], mask_text=["hunter2"], audit=kept)
    retry_many(page, worked, where="name:hunter2*")
    (line,) = lines(page)
    assert line["filter"] == {"state": "failed", "where": "***"}
    assert all("hunter2" not in text for text in [*page.all_of("/audit"), kept.read_text()])
