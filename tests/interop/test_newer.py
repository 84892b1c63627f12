"""The one table of what newer versions of BullMQ do otherwise: the docs show it, the comparison reads it."""

from typing import Any

from . import newer
from .peers import FLOOR, HERE, NEWEST_5, NEWEST_6


def test_the_page_shows_the_table() -> None:
    text = newer.PAGE.read_text()
    assert newer.page(text) == text, "write it: python -m tests.interop.newer"
    assert all(line in text for line in newer.rows())


def test_rows_name_tests_that_exist() -> None:
    for row in newer.DIFFERENCES:
        for test in row.tests:
            file, _, name = test.partition("::")
            assert f"def {name.partition('[')[0]}(" in (HERE / file).read_text(), test


def test_a_test_is_expected_to_fail_beside_the_peers_of_its_row_only() -> None:
    test = "state/test_add.py::test_adding_while_paused[scripts]"
    assert newer.reasons_to_fail(test, NEWEST_6) == ["pause"]
    assert newer.reasons_to_fail(test, NEWEST_5) == newer.reasons_to_fail(test, FLOOR) == []
    assert newer.reasons_to_fail("state/test_add.py::test_a_standard_job[scripts]", NEWEST_6) == []


def test_a_row_of_some_parameters_leaves_the_others() -> None:
    test = "state/test_clean.py::test_the_grace"
    assert newer.reasons_to_fail(f"{test}[pair-1-paused]", NEWEST_6) == ["pause"]
    assert newer.reasons_to_fail(f"{test}[pair-1-unpaused]", NEWEST_6) == []


def entry(kind: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "value": value, "ttl": -1}


THEIRS = {
    "wait": entry("list", ["2", "1"]),
    "1": entry("hash", {"name": "n"}),
    "events": entry("stream", [[("event", "deduplicated"), ("jobId", "1")]]),
}
OURS = {
    "paused": entry("list", ["2", "1"]),
    "1": entry("hash", {"name": "n", "nrjid": "repeat:s:1"}),
    "events": entry("stream", [[("event", "debounced"), ("jobId", "1")], [("event", "deduplicated"), ("jobId", "1")]]),
}


def test_looking_past_known_differences_makes_the_states_equal_and_hides_nothing_else() -> None:
    view = newer.looking_past(NEWEST_6)
    assert view(OURS) == view(THEIRS)
    assert newer.looking_past(NEWEST_5)(OURS) == newer.looking_past(FLOOR)(OURS) == OURS
    for key in THEIRS:
        other = {**THEIRS, key: entry("string", "other")}
        assert view(other) != view(THEIRS), key


def test_no_row_is_of_the_floor() -> None:
    assert all(row.peers and FLOOR not in row.peers for row in newer.DIFFERENCES)
