"""The pages about planted incidents: what they draw, whether all can use them, and pictures of them for the docs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from bullrush.embedded import EmbeddedRedis
from tests.waiting import wait_until

from .browser import SCREENSHOTS, Browser
from .incidents import dashboard, incidents

ROOT = Path(__file__).parents[2]
#: ``make dashboard-images`` writes them to the docs.
PICTURES = Path(os.environ.get("BULLRUSH_PICTURES", SCREENSHOTS))
#: The pages of which there are pictures.
PICTURED = {
    "queues": "/",
    "queue": "/q/uploads",
    "failures": "/q/mail/failures",
    "job": "/q/orders/jobs/{order}",
    "history": "/q/mail/history?outcome=failed",
    "flow": "/q/orders/flows/{order}",
}


class Planted(NamedTuple):
    """A dashboard over incidents.

    Attributes:
        address: where it is; the browser is logged in.
        order: the id of a job that failed twice and then completed.
    """

    address: str
    order: str


@pytest.fixture(scope="module")
def planted(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    history = tmp_path_factory.mktemp("incidents") / "history.db"
    with (
        EmbeddedRedis(port=0, password="") as server,
        incidents(server.url) as ids,
        dashboard(server.url, "--history", str(history), "--name", "demo") as link,
    ):
        browser("complaints")
        browser("open", link)
        browser("at", "/")
        yield Planted(link.partition("/login")[0], ids["orders"])
        browser("open", "about:blank")  # a page would go on asking


def test_three_errors_are_three_groups(browser: Browser, planted: Planted) -> None:
    browser("open", f"{planted.address}/q/mail/failures")
    assert browser("count", ".group") == 3
    browser("see", "Retry these 1,400")


def test_the_attempts_of_a_job_and_its_children_are_drawn(browser: Browser, planted: Planted) -> None:
    browser("open", f"{planted.address}/q/orders/jobs/{planted.order}")
    browser("see", "Attempts")
    assert browser("count", ".lane:has(> b)") == 3 and browser("count", ".lane.child") == 4
    assert browser("count", ".lane:not(.child) .back-off") == 2 and browser("count", ".lane.level2") == 2


def test_nothing_keeps_people_from_using_a_page(browser: Browser, planted: Planted) -> None:
    pages = ["/", "/about", "/q/uploads", "/q/mail?state=failed", "/q/billing/schedulers", "/q/render/routes"]
    pages += ["/q/mail/failures", "/q/mail/history", "/q/mail/workers", "/q/nothing"]
    pages += [f"/q/orders/{page}/{planted.order}" for page in ("jobs", "flows")]
    found = {}
    for theme in ("light", "dark"):
        browser("scheme", theme)
        for path in pages:
            browser("open", planted.address + path)
            if broken := browser("axe"):
                found[path, theme] = broken
    browser("scheme", "light")
    browser("complaints")  # the page that does not exist is one
    assert found == {}


def test_pictures_of_the_pages_in_both_themes(browser: Browser, planted: Planted) -> None:
    wait_until(lambda: browser("open", f"{planted.address}/") or browser("count", ".spark") > 8)
    PICTURES.mkdir(exist_ok=True)
    for theme in ("light", "dark"):
        browser("scheme", theme)
        for name, path in PICTURED.items():
            browser("open", planted.address + path.format(order=planted.order))
            browser("picture", str(PICTURES / f"dashboard-{name}-{theme}.png"))
    browser("scheme", "light")
    assert browser("complaints") == ""


def test_the_docs_show_all_pictures_in_both_themes_and_the_readme_one() -> None:
    page, readme = ((ROOT / name).read_text() for name in ("docs/dashboard.md", "README.md"))
    for name in PICTURED:
        for theme in ("light", "dark"):
            assert f"](images/dashboard-{name}-{theme}.png#only-{theme})" in page
            assert (ROOT / f"docs/images/dashboard-{name}-{theme}.png").read_bytes().startswith(b"\x89PNG")
    assert "](docs/images/dashboard-queues-light.png)" in readme


def test_the_demo_plants_incidents_and_opens_their_page_until_ctrl_c(tmp_path: Path) -> None:
    opened, opener = tmp_path / "opened", tmp_path / "opener"
    opener.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    opener.chmod(0o700)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.boards.incidents"],
        cwd=ROOT,
        env={**os.environ, "BROWSER": f"{opener} %s"},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell may ignore it
    ) as demo:
        assert demo.stdout is not None
        link = demo.stdout.readline().removeprefix("The dashboard: ").strip()
        wait_until(lambda: opened.exists() and opened.read_text().strip() == link)
        with httpx.Client(follow_redirects=True, timeout=30) as client:
            assert "What needs a human" in client.get(link).text
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 0
