"""Scripts that remove jobs: a parent with damaged keys is reported, and stops no job."""

import pytest
import redis

NOW = 1795225366409
CALLS = {
    "waiting": [
        ("manage/clean", "wait", NOW, 100, 0, 0),
        ("manage/drain", 0),
        ("manage/obliterate", 1000, 0),
        ("manage/remove", "1", 0),
    ],
    "nowhere": [("manage/remove_orphaned_jobs", "1", "2", "3")],
}


@pytest.fixture
def damaged_parent(store, add_child, client, queue, pause):
    """`damaged_parent(state)`: jobs 1, 2 and 3 in that state, of which 1 and 3 have a parent with a broken key."""

    def prepare(state):
        for job_id in "123":
            store(job_id, state)
        store("p", "waiting-children")
        add_child("p", "1")
        add_child("p", "3")
        client.delete(f"bull:{queue}:p:dependencies")
        client.set(f"bull:{queue}:p:dependencies", "no set")
        pause()

    return prepare


@pytest.mark.parametrize(
    ("state", "call"),
    [("wait" if state == "waiting" else None, call) for state, calls in CALLS.items() for call in calls],
    ids=lambda part: part[0] if isinstance(part, tuple) else None,
)
def test_the_jobs_are_removed_and_the_parent_is_reported(run, damaged_parent, dump, queue, state, call):
    damaged_parent(state)
    script, *args = call
    with pytest.raises(redis.ResponseError, match=f"parent bull:{queue}:p was not told .*WRONGTYPE.*mend the keys"):
        run(script, queue, *args)
    gone = {"1"} if script == "manage/remove" else {"1", "2", "3"}
    assert gone.isdisjoint(dump(queue))
    assert gone.isdisjoint(dump(queue).get("wait", []))


def test_a_damaged_parent_does_not_stop_pruning(add, fetch, finish, client, dump, queue):
    """The jobs finish, and all jobs beyond the keep rule are removed."""
    add(queue, "{}", "{}", "{}")
    fetch(queue, 3)
    client.hset(f"bull:{queue}:1", mapping={"parentKey": f"bull:{queue}:p", "parent": "{}"})
    client.set(f"bull:{queue}:p:dependencies", "no set")
    for number, job_id in enumerate("123"):
        assert finish(queue, (job_id, "1"), keep=1, now=NOW + number)[0] == {}
    assert [job_id for job_id, _ in dump(queue)["completed"]] == ["3"]
    assert {"1", "2"}.isdisjoint(dump(queue))
