"""lua/inspect/get_matches.lua: fields of jobs, of those whose fields have certain texts."""

import pytest

SCRIPT = "inspect/get_matches"
MB = 1_000_000


@pytest.fixture
def full(client, queue):
    """Three jobs: 1 and 2 are mails, 2 and 3 are of Ada; 3 has no name."""
    client.hset(f"bull:{queue}:1", mapping={"name": "mail", "data": '{"user":"Eve"}'})
    client.hset(f"bull:{queue}:2", mapping={"name": "mail", "data": '{"user":"Ada"}'})
    client.hset(f"bull:{queue}:3", mapping={"data": '{"user":"Ada"}'})
    return queue


def test_only_jobs_with_the_texts_are_sent(run, full):
    assert run(SCRIPT, full, MB, MB, 1, "data", "Ada", "1", "2", "3") == [
        3, 0, "2", ['{"user":"Ada"}'], "3", ['{"user":"Ada"}'],
    ]  # fmt: skip
    assert run(SCRIPT, full, MB, MB, 2, "name", "mai", "data", "Ada", "1", "2", "3") == [
        3, 0, "2", ["mail", '{"user":"Ada"}'],
    ]  # fmt: skip


def test_a_text_is_no_pattern(run, full):
    assert run(SCRIPT, full, MB, MB, 1, "data", "A.a", "1", "2", "3") == [3, 0]


def test_a_field_without_a_text_is_sent_as_it_is(run, full):
    assert run(SCRIPT, full, MB, MB, 1, "name", "", "1", "3", "gone") == [
        3,
        0,
        "1",
        ["mail"],
        "3",
        [None],
        "gone",
        [None],
    ]


def test_it_stops_behind_so_many_bytes(run, full):
    assert run(SCRIPT, full, MB, 20, 1, "data", "Ada", "1", "2", "3") == [2, 0, "2", ['{"user":"Ada"}']]


def test_data_that_is_too_long_is_counted_and_not_read(run, client, full):
    client.hset(f"bull:{full}:4", "data", "Ada" * 100)
    assert run(SCRIPT, full, 299, MB, 1, "data", "Ada", "4", "2") == [2, 1, "2", ['{"user":"Ada"}']]
    assert run(SCRIPT, full, 300, MB, 1, "data", "AdaAda", "4", "2") == [2, 0, "4", ["Ada" * 100]]


def test_it_changes_nothing(run, full, dump):
    before = dump(full)
    run(SCRIPT, full, MB, MB, 1, "data", "Ada", "1", "2", "3")
    assert dump(full) == before
