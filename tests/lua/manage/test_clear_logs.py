"""lua/manage/clear_logs.lua: deleting a job's log or its oldest rows."""

import pytest

SCRIPT = "manage/clear_logs"


@pytest.mark.parametrize(("keep", "rows"), [(2, ["b", "c"]), (9, ["a", "b", "c"]), (None, None), (0, None)])
def test_the_newest_rows_stay(run, queue, client, dump, keep, rows):
    client.rpush(f"bull:{queue}:1:logs", "a", "b", "c")
    assert run(SCRIPT, queue, "1", keep) == 0
    assert dump(queue).get("1:logs") == rows


def test_a_job_without_a_log_is_fine(run, queue, dump):
    assert run(SCRIPT, queue, "1", None) == 0
    assert run(SCRIPT, queue, "1", 3) == 0
    assert dump(queue) == {}
