"""Waiting in tests: the result comes back, and an error says what was awaited."""

import pytest

from tests.waiting import wait_until


def test_the_first_true_result_is_returned() -> None:
    results = iter([0, None, "found", "later"])
    assert wait_until(lambda: next(results)) == "found"


def test_the_error_has_the_text_the_time_and_the_last_result() -> None:
    with pytest.raises(AssertionError, match=r"^not within 0 s: the queue is empty\nlast result: \[\]$"):
        wait_until(list, "the queue is empty", seconds=0)


def test_without_a_text_the_error_has_the_source_of_the_condition() -> None:
    jobs: list[str] = []
    with pytest.raises(AssertionError, match=r"wait_until\(lambda: len\(jobs\) == 3, seconds=0\)\nlast result: False$"):
        wait_until(lambda: len(jobs) == 3, seconds=0)
