"""lua/legacy/schedule_repeatable.lua: the next job of a repeatable of Bull."""

SCRIPT = "legacy/schedule_repeatable"
KEY = "mail::::60000"
NOW = 1795225320000
NEXT = NOW + 60_000


def proceed(run, queue, before=NOW):
    return run(SCRIPT, queue, KEY, before, NEXT, f"repeat:ab:{NEXT}", "name", "mail", "data", "{}")


def test_the_next_job_is_delayed_once(run, client, queue, dump):
    client.zadd(f"bull:{queue}:repeat", {KEY: NOW})
    client.set(f"bull:{queue}:id", 4)
    assert proceed(run, queue) == 1
    state = dump(queue)
    assert state == {
        "id": "5",
        "repeat": [(KEY, NEXT)],
        "delayed": [(f"repeat:ab:{NEXT}", NEXT * 4096 + 5)],
        f"repeat:ab:{NEXT}": {"name": "mail", "data": "{}"},
    }
    assert proceed(run, queue) == 0
    assert dump(queue) == state


def test_a_repeatable_that_was_removed_has_no_next_job(run, queue, dump):
    assert proceed(run, queue) == 0
    assert dump(queue) == {}


def test_a_job_that_a_worker_has_added_stays(run, client, queue, dump):
    client.zadd(f"bull:{queue}:repeat", {KEY: NOW})
    client.hset(f"bull:{queue}:repeat:ab:{NEXT}", "name", "theirs")
    assert proceed(run, queue) == 1
    state = dump(queue)
    assert state[f"repeat:ab:{NEXT}"] == {"name": "theirs"}
    assert "delayed" not in state


def test_a_new_repeatable_gets_its_first_job_and_an_old_one_its_new_time(run, client, queue, dump):
    assert proceed(run, queue, before="") == 1
    state = dump(queue)
    assert (state["repeat"], state["delayed"]) == ([(KEY, NEXT)], [(f"repeat:ab:{NEXT}", NEXT * 4096 + 1)])
    client.zadd(f"bull:{queue}:repeat", {KEY: NOW})
    assert proceed(run, queue, before="") == 1
    assert dump(queue) == {**state, "id": "2"}
