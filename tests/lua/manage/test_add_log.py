"""lua/manage/add_log.lua: appending a row to a job's log."""

import pytest

SCRIPT = "manage/add_log"


def test_rows_are_appended_and_counted(run, queue, store, dump, events):
    store("1", "active")
    assert [run(SCRIPT, queue, "1", row, None) for row in ("a", "", "c")] == [1, 2, 3]
    assert dump(queue)["1:logs"] == ["a", "", "c"]
    assert events(queue) == []


@pytest.mark.parametrize(
    ("keep", "count", "rows"), [(2, 2, ["b", "c"]), (5, 3, ["a", "b", "c"]), (0, 3, ["a", "b", "c"])]
)
def test_only_the_newest_rows_are_kept(run, queue, client, store, dump, keep, count, rows):
    store("1", "active")
    client.rpush(f"bull:{queue}:1:logs", "a", "b")
    assert run(SCRIPT, queue, "1", "c", keep) == count
    assert dump(queue)["1:logs"] == rows


@pytest.mark.parametrize(
    ("opts", "kept"),
    [
        ('{"kl":2}', 2), ('{"kl":0}', 4), ('{"kl":9}', 4), ('{"kl":2.5}', 2), ("{}", 3), ('{"kl":{}}', 3),
        ('{"kl":null}', 3), ('"kl"', 3), ('{"kl":', 3), ('{"kl":1e400}', 3), (None, 3),
    ],
)  # fmt: skip
def test_the_jobs_own_option_counts_before_the_default_of_the_caller(run, queue, client, store, dump, opts, kept):
    store("1", "active")
    client.hdel(f"bull:{queue}:1", "opts") if opts is None else client.hset(f"bull:{queue}:1", "opts", opts)
    client.rpush(f"bull:{queue}:1:logs", "a", "b", "c")
    assert run(SCRIPT, queue, "1", "d", 3, "own") == kept
    assert dump(queue)["1:logs"] == ["a", "b", "c", "d"][-kept:]


def test_a_missing_job_gets_no_log(run, queue, dump):
    assert run(SCRIPT, queue, "1", "row", None) == -1
    assert dump(queue) == {}
