"""lua/lock/release_lock.lua: releasing a lock."""

import pytest

SCRIPT = "lock/release_lock"


def test_the_owner_releases_its_lock_and_the_job_stays_where_it_is(run, queue, activate, dump):
    activate(queue, "1", "w:0")
    before = dump(queue)
    assert run(SCRIPT, queue, "1", "w:0") == 1
    assert dump(queue) == {key: value for key, value in before.items() if key != "1:lock"}


@pytest.mark.parametrize("token", ["w:1", ""])
def test_a_foreign_lock_stays(run, queue, activate, dump, token):
    activate(queue, "1", "w:0")
    assert run(SCRIPT, queue, "1", token) == 0
    assert dump(queue)["1:lock"] == "w:0"


def test_an_absent_lock_is_not_released(run, queue, dump):
    assert run(SCRIPT, queue, "1", "w:0") == 0
    assert dump(queue) == {}
