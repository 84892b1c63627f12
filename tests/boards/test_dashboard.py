"""Our own dashboard in a real browser: no report of its policy, by keyboard alone, and its buttons."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from bullrush import Queue, Worker
from tests.waiting import wait_until

from .browser import SCREENSHOTS, Browser

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def address(browser: Browser, redis_url: str, tmp_path: Path) -> Iterator[str]:
    """Serve the dashboard as its command does, log in by the link, and return where it is."""
    command = [sys.executable, "-m", "bullrush", "dashboard", redis_url, "--json"]
    command += ["--history", str(tmp_path / "history.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        link = json.loads(served.stdout.readline())["url"]
        browser("complaints")
        browser("open", link)
        browser("at", "/")
        yield link.partition("/login")[0]
        browser("open", "about:blank")  # a page would go on asking
        served.terminate()


@pytest.fixture
def failed(queue: Queue, redis_url: str) -> Queue:
    """Return a queue with three failed jobs of two causes, whose names, data and errors are hostile."""

    def fail(job: object) -> None:
        raise (ValueError if getattr(job, "name", "") == "a" else KeyError)(HOSTILE)

    queue.add_bulk([{"name": name, "data": {HOSTILE: HOSTILE}} for name in ("a", "a", HOSTILE)])
    with Worker(queue.name, fail, url=redis_url) as worker:
        worker.run(until="empty")
    queue.add("waits", {})
    return queue


def test_no_page_breaks_its_policy_in_either_theme(browser: Browser, address: str, failed: Queue) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    pages = {"queues": "/", **{name or "queue": f"/q/{failed.name}{name}" for name in ("", "/failures", "/workers")}}
    pages |= {"job": f"/q/{failed.name}/jobs/3", "schedulers": f"/q/{failed.name}/schedulers"}
    pages |= {name: f"/q/{failed.name}/{path}" for name, path in (("slow", "slow"), ("add", "add"), ("edit", "edit/3"))}
    pages |= {f"all-{name}": f"/{name}" for name in ("failures", "workers", "schedulers", "audit")}
    for theme in ("light", "dark"):
        browser("scheme", theme)
        for name, path in pages.items():
            browser("open", address + path)
            browser("screenshot", str(SCREENSHOTS / f"dashboard-{name.strip('/')}-{theme}.png"))
    assert browser("complaints") == ""


def test_a_failure_is_found_by_keyboard_alone(browser: Browser, address: str, failed: Queue) -> None:
    browser("open", f"{address}/q/{failed.name}?state=failed")
    browser("press", "/")
    browser("type", "name:a")
    browser("press", "Enter")
    browser("at", f"/q/{failed.name}?state=failed&where=name%3Aa")
    assert browser("count", ".rows tbody tr") == 2
    browser("press", "j")
    browser("press", "j")
    browser("press", "Enter")
    browser("at", f"/q/{failed.name}/jobs/1")
    browser("press", "?")
    browser("see", "the next and the last row")
    assert browser("complaints") == ""


def test_a_word_in_the_filter_finds_the_names_that_have_it(browser: Browser, address: str, queue: Queue) -> None:
    queue.add_bulk([{"name": name} for name in ("send-welcome-mail", "digest", "welcome")])
    browser("open", f"{address}/q/{queue.name}")
    browser("press", "/")
    browser("type", "welcome")
    browser("press", "Enter")
    browser("at", f"/q/{queue.name}?state=waiting&where=welcome")
    browser("see", "Read as")
    assert browser("count", ".rows tbody tr") == 2
    browser("press", "/")
    browser("press", "Control+a")
    browser("type", "2")
    browser("press", "Enter")
    browser("at", f"/q/{queue.name}?state=waiting&where=2")
    browser("see", "digest")
    assert browser("count", ".rows tbody tr") == 1
    assert browser("complaints") == ""


def test_the_buttons_do_what_they_say(browser: Browser, address: str, failed: Queue) -> None:
    browser("open", f"{address}/q/{failed.name}/failures")
    browser("click", "button:has-text('Retry these 2')")
    browser("see", "2 jobs wait again.")
    browser("reload")
    assert failed.get_job_counts("waiting", "failed") == {"waiting": 3, "failed": 1, "paused": 0}
    browser("open", f"{address}/q/{failed.name}/jobs/3")
    browser("click", "summary:has-text('Remove')")
    browser("click", "button:has-text('Remove')")
    browser("see", "Job 3 is removed.")
    assert failed.get_job("3") is None


def test_a_page_keeps_itself_up_to_date(browser: Browser, address: str, failed: Queue) -> None:
    browser("open", f"{address}/q/{failed.name}?state=failed")
    browser("press", "j")
    failed.add("new")
    browser("see", "waiting 2")
    assert browser("focused", ".rows tbody tr:first-child a")
    browser("open", f"{address}/q/{failed.name}/jobs/3")
    browser("click", "summary:has-text('Remove')")
    failed.add_job_log("3", "a new row")
    browser("see", "a new row")
    # What somebody has opened stays open.
    assert browser("count", "button.careful") == 1
    assert browser("complaints") == ""


def test_a_hidden_page_and_one_that_is_stopped_ask_nothing(browser: Browser, address: str, failed: Queue) -> None:
    browser("stopClock")
    browser("open", f"{address}/q/{failed.name}")
    browser("see", "live")
    browser("requests")
    browser("hide", True)
    browser("pass", 20_000)
    assert browser("requests") == 0
    browser("hide", False)
    wait_until(lambda: browser("requests") == 1)
    browser("click", "#live-switch")
    browser("see", "paused at ")
    browser("pass", 20_000)
    assert browser("requests") == 0
    browser("click", "#live-switch")
    wait_until(lambda: browser("requests") == 1)
    browser("pass", 2_100)
    wait_until(lambda: browser("requests") == 1)
    browser("startClock")
    assert browser("complaints") == ""


def test_a_job_that_is_removed_while_somebody_looks_is_said_to_be_gone(
    browser: Browser, address: str, failed: Queue
) -> None:
    browser("open", f"{address}/q/{failed.name}/jobs/3")
    failed.remove("3")
    browser("see", "it was removed, or never added")
    browser("see", "no news since")


def test_a_page_of_somebody_else_changes_nothing(browser: Browser, address: str, failed: Queue) -> None:
    form = f"<form method=post action='{address}/q/{failed.name}/pause'><button>win</button></form>"
    browser("open", f"data:text/html,{quote(form)}")
    browser("click", "button")
    browser("see", "Log in")
    assert not failed.is_paused()
