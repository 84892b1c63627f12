"""Twenty tabs look at the dashboard for a minute while Redis is restarted: ``make dashboard-soak`` takes longer."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from .browser import Browser
from .soak import BEGIN, MOST_MB, PAGE, RESULT, ROOT, Soak, ends, paragraph


@pytest.mark.timeout(300)
def test_the_memory_of_the_dashboard_stays_as_it_is(browser: Browser) -> None:
    soak = Soak(60)
    soak.run(browser)
    result = soak.result()
    assert result["violations"] == []
    # Somebody did look, and was told while Redis was away.
    assert result["statuses"]["200"] > 100 and len(result["samples"]) > 50


def test_what_grows_or_fails_is_found() -> None:
    soak = Soak(60)
    soak.samples = [(second, 80.0 + second) for second in range(60)]
    soak.statuses.update({200: 500, 500: 1})
    grown, failed, never = soak.result()["violations"]
    assert "grew from" in grown and failed == "1 times 500" and "never restarted" in never
    soak.samples[-1] = (60, MOST_MB + 1.0)
    assert f"more than {MOST_MB}" in soak.result()["violations"][0]
    assert ends([200.0] * 20 + [90.0] * 40) == (90.0, 90.0)


def test_the_docs_have_the_last_result() -> None:
    page = PAGE.read_text()
    assert f"{BEGIN}\n{paragraph(json.loads(RESULT.read_text()))}\n" in page


@pytest.mark.parametrize(
    ("given", "seconds", "records"),
    [
        ([], "1800", True),
        (["SECONDS=60"], "60", False),
        (["SECONDS=60", "RECORD=1"], "60", True),
        (["RECORD="], "1800", False),
    ],
)
def test_a_short_run_does_not_change_the_docs(given: list[str], seconds: str, records: bool) -> None:
    outside = {name: value for name, value in os.environ.items() if name not in ("RECORD", "SECONDS", "MAKEFLAGS")}
    commands = subprocess.check_output(
        ["make", "--dry-run", "dashboard-soak", *given], cwd=ROOT, text=True, env=outside
    )
    assert f"tests.boards.soak --seconds {seconds} " in commands and ("--record" in commands) is records
