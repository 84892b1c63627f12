"""When the jobs of a scheduler are due."""

from __future__ import annotations

from typing import Any

import pytest

from bullrush.inspection import coming_runs, run_before

HOUR, DAY = 3_600_000, 86_400_000
#: 2026-11-28, midnight in UTC.
MIDNIGHT = 1_795_824_000_000


def test_the_next_runs_begin_with_the_one_that_waits() -> None:
    assert coming_runs({"next": 5 * HOUR, "every": HOUR}, 4 * HOUR, 3) == [5 * HOUR, 6 * HOUR, 7 * HOUR]


def test_a_run_that_is_due_already_is_none_of_the_next() -> None:
    assert coming_runs({"next": 5 * HOUR, "every": HOUR}, 8 * HOUR + 1, 2) == [9 * HOUR, 10 * HOUR]


@pytest.mark.parametrize(
    ("ends", "runs"),
    [
        ({"limit": 4, "iteration_count": 3}, 2),
        ({"limit": 3, "iteration_count": 3}, 1),
        ({"end_date": 6 * HOUR}, 2),
        ({"end_date": HOUR}, 0),
        ({}, 3),
    ],
)
def test_after_the_end_of_a_scheduler_there_is_none(ends: dict[str, Any], runs: int) -> None:
    assert len(coming_runs({"next": 5 * HOUR, "every": HOUR, **ends}, 0, 3)) == runs


def test_a_pattern_goes_by_its_time_zone() -> None:
    nightly = {"next": MIDNIGHT + 3 * HOUR, "pattern": "0 3 * * *", "tz": "UTC"}
    assert coming_runs(nightly, MIDNIGHT, 2) == [MIDNIGHT + 3 * HOUR, MIDNIGHT + 3 * HOUR + DAY]


@pytest.mark.parametrize(
    ("pattern", "before"),
    [("0 3 * * *", DAY), ("0 3,15 * * *", 12 * HOUR), ("* * 3 * * *", DAY - HOUR + 1_000), ("0 3 28 11 *", 365 * DAY)],
)
def test_the_run_before_is_found(pattern: str, before: int) -> None:
    due = MIDNIGHT + 3 * HOUR
    assert run_before({"next": due, "pattern": pattern, "tz": "UTC", "iteration_count": 2}) == due - before


def test_a_scheduler_that_has_made_one_job_has_no_run_before() -> None:
    assert run_before({"next": HOUR, "every": HOUR, "iteration_count": 1}) is None
    assert run_before({"next": HOUR, "every": HOUR, "iteration_count": 2}) == 0


@pytest.mark.parametrize("rule", [{"pattern": "every full moon"}, {"pattern": "0 3 * * *", "tz": "Mars/Olympus"}])
def test_of_a_pattern_that_only_its_own_programs_read_one_run_is_known(rule: dict[str, Any]) -> None:
    scheduler = {"next": 5 * HOUR, "iteration_count": 3, **rule}
    assert coming_runs(scheduler, 0, 3) == [5 * HOUR]
    assert run_before(scheduler) is None
