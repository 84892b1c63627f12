"""lua/manage/update_data.lua: replacing a job's data."""

import pytest

SCRIPT = "manage/update_data"


@pytest.mark.parametrize("data", ['{"a":1}', "null", '"é\\u0000/"', ""])
def test_the_text_is_stored_as_it_came(run, queue, store, dump, events, data):
    store("1", "active")
    assert run(SCRIPT, queue, "1", data) == 0
    assert dump(queue)["1"]["data"] == data
    assert events(queue) == []


def test_a_missing_job_is_reported_and_not_created(run, queue, dump):
    assert run(SCRIPT, queue, "1", "{}") == -1
    assert dump(queue) == {}
