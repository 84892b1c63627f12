"""The one table of what newer versions of BullMQ do otherwise: the docs show it, the comparison reads it."""

from . import newer
from .peers import FLOOR, HERE, NEWEST_5, NEWEST_6


def test_the_page_shows_the_table() -> None:
    text = newer.PAGE.read_text()
    assert newer.page(text) == text, "write it: python -m tests.interop.newer"
    assert all(line in text for line in newer.rows())


def test_rows_name_tests_that_exist() -> None:
    for row in newer.DIFFERENCES:
        for test in (*row.tests, *row.shown_by):
            file, _, name = test.partition("::")
            assert f"def {name.partition('[')[0]}(" in (HERE / file).read_text(), test


def test_a_test_is_expected_to_fail_beside_the_peers_of_its_row_only() -> None:
    test = "state/test_manage.py::test_an_unknown_state_counts_nothing[scripts]"
    assert newer.reasons_to_fail(test, NEWEST_6) == ["counts of a queue"]
    assert newer.reasons_to_fail(test, NEWEST_5) == newer.reasons_to_fail(test, FLOOR) == []
    assert newer.reasons_to_fail("state/test_add.py::test_a_standard_job[scripts]", NEWEST_6) == []


def test_a_row_of_some_parameters_leaves_the_others() -> None:
    test = "state/test_manage.py::test_counts"
    assert newer.reasons_to_fail(f"{test}[api-types0]", NEWEST_6) == ["counts of a queue"]
    assert newer.reasons_to_fail(f"{test}[api-types1]", NEWEST_6) == []


def test_no_row_is_of_the_floor() -> None:
    assert all(row.peers and FLOOR not in row.peers for row in newer.DIFFERENCES)
