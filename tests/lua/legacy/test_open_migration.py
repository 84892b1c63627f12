"""lua/legacy/open_migration.lua: what holds for a migration from its first job on."""

SCRIPT = "legacy/open_migration"


def test_an_empty_queue_takes_the_ids(run, queue, dump):
    assert run(SCRIPT, queue, "bull:old", False, 17) == "kept"
    assert dump(queue) == {"ext:migration": {"bull:old": "kept"}, "id": "17"}


def test_a_queue_that_was_used_does_not(run, queue, dump, client):
    client.set(f"bull:{queue}:id", 4)
    assert run(SCRIPT, queue, "bull:old", False, 17) == "l-"
    assert dump(queue) == {"ext:migration": {"bull:old": "l-"}, "id": "4"}


def test_a_queue_with_jobs_is_refused_unless_they_may_be_mixed(run, queue, dump, add):
    add(queue, "{}", ids=["a"], delay=5000)
    before = dump(queue)
    assert run(SCRIPT, queue, "bull:old", False, "") == -1
    assert dump(queue) == before
    assert run(SCRIPT, queue, "bull:old", True, "") == "l-"


def test_a_second_run_goes_on_with_the_first_decision(run, queue, dump, add):
    run(SCRIPT, queue, "bull:old", False, 17)
    add(queue, "{}")
    assert run(SCRIPT, queue, "bull:old", False, 25) == "kept"
    assert dump(queue)["id"] == "25"
    assert run(SCRIPT, queue, "bull:older", False, 3) == -1
