"""lua/manage/remove_deduplication_key.lua: deleting a deduplication key."""

SCRIPT = "manage/remove_deduplication_key"


def test_without_a_key_nothing_is_deleted(run, queue, dump):
    assert run(SCRIPT, queue, "1", "d") == 0
    assert dump(queue) == {}


def test_the_owner_deletes_it(run, queue, client):
    client.set(f"bull:{queue}:de:d", "1", px=60_000)
    assert run(SCRIPT, queue, "1", "d") == 1
    assert not client.exists(f"bull:{queue}:de:d")


def test_another_job_does_not(run, queue, client):
    client.set(f"bull:{queue}:de:d", "2")
    assert run(SCRIPT, queue, "1", "d") == 0
    assert client.get(f"bull:{queue}:de:d") == "2"
