"""How many commands the scripts run: each costs the server about 2 us beside its own work.

The numbers are goals of `benches/catalogue.py` (see `benches/harness/script_calls.py`). A script may need fewer.
"""

import pytest

from benches.harness.script_calls import GOALS
from tests.lua.denied.scenarios import NOT_OF_SCRIPTS

NOW = 1795225366409
#: Commands that no script runs: clients of other tests may wait on the same server.
OF_OTHERS = NOT_OF_SCRIPTS | {"brpoplpush", "bzpopmin"}
#: The fields of a job after its fetch, if it started then, and if it was claimed ahead.
STARTED, CLAIMED = 8, 6


@pytest.fixture
def calls(client):
    """`calls(steps)`: how many commands the scripts in `steps` run, by name."""

    def count(steps):
        client.config_resetstat()
        steps()
        used = {name.removeprefix("cmdstat_"): of["calls"] for name, of in client.info("commandstats").items()}
        return {name: number for name, number in used.items() if name.split("|")[0] not in OF_OTHERS}

    return count


@pytest.fixture
def taken(add, fetch):
    """`taken(queue, n, slots)`: n jobs are active, of which `slots` have started, and n others wait."""

    def prepare(queue, count, slots=None):
        add(queue, *["{}"] * (2 * count + 1))
        fetch(queue, count, now=NOW - 10, slots=slots)

    return prepare


def rows(count, first=1, started=None):
    """Return the jobs for `finish`; `started`: they were claimed ahead and started then."""
    stamp = () if started is None else (started,)
    return [(*stamp, str(number), "1") for number in range(first, first + count)]


@pytest.fixture
def turn(calls, finish, queue):
    """`turn(n)`: the commands of one call that completes n jobs and fetches n others."""

    def of(count, slots=None, **options):
        options.setdefault("plain_fields", STARTED)

        def finish_them():
            refused, fetched = finish(queue, *rows(count), fetch=count, **options)
            assert refused == {}
            assert len(fetched.jobs) == count

        return calls(finish_them)

    return of


def total(used):
    return sum(used.values())


def test_one_job_is_added(add, calls, queue):
    add(queue, "{}")  # the first one also writes the default length of the stream
    assert total(calls(lambda: add(queue, "{}"))) <= GOALS["add"]


def test_a_job_of_many_takes_its_hash_and_its_two_events(add, calls, queue):
    add(queue, "{}")
    used = calls(lambda: add(queue, *["{}"] * 100))
    assert {name: number for name, number in used.items() if number > 10} == {"hset": 100, "xadd": 200}


@pytest.mark.parametrize("compat", [{}, {"ext:compat": "6"}])
def test_a_job_costs_no_command_more_in_a_queue_of_bullmq_6(add, client, calls, new_queue, compat):
    """The scripts of jobs read the version with the other settings."""
    costs = []
    for settings in ({"version": "bullmq:5.62.0"}, {"version": "bullmq:6.7.0", **compat}):
        queue = new_queue()
        client.hset(f"bull:{queue}:meta", mapping={"opts.maxLenEvents": "10000", **settings})
        costs.append(total(calls(lambda queue=queue: add(queue, "{}"))))
    assert costs[0] == costs[1] <= GOALS["add"]


def test_one_job_of_a_queue_of_bullmq_6_completes_and_the_next_one_starts(client, taken, turn, queue):
    client.hset(f"bull:{queue}:meta", "version", "bullmq:6.7.0")
    taken(queue, 1)
    assert total(turn(1)) <= GOALS["turn of 1"]


def test_one_job_completes_and_the_next_one_starts(taken, turn, queue):
    taken(queue, 1)
    assert total(turn(1)) <= GOALS["turn of 1"]


def test_one_job_that_was_claimed_ahead_completes(taken, calls, finish, queue):
    taken(queue, 1, slots=0)
    used = calls(lambda: finish(queue, *rows(1, started=NOW), fetch=1, plain_fields=CLAIMED, ats=1))
    assert total(used) <= GOALS["turn of 1"]


def test_ten_jobs_complete_and_ten_others_start(taken, turn, queue):
    taken(queue, 10)
    assert total(turn(10)) <= 10 * GOALS["turn of 10, per job"]


def test_a_few_of_ten_jobs_complete_and_as_many_others_start(taken, turn, queue):
    """A worker with ten slots finishes a few jobs in each call."""
    taken(queue, 10)
    assert total(turn(4)) <= 4 * GOALS["turn of 4 of 10, per job"]


def test_a_hundred_jobs_complete_and_a_hundred_others_start(taken, turn, queue):
    taken(queue, 100)
    assert total(turn(100)) <= 100 * GOALS["turn of 100, per job"]


def test_a_hundred_jobs_that_were_claimed_ahead_complete_and_as_many_others_are_claimed(taken, calls, run, queue):
    taken(queue, 100, slots=0)
    head = [NOW, 0, 100, "t", 30_000, "", "", "", 0, "", False, ""]
    jobs = [value for row in rows(100, started=NOW) for value in row]

    def turn():
        refused, *fetched = run(
            "finish/move_to_finished", queue, *head, 100, "completed", "t", -1, "", 1, CLAIMED, "", *jobs
        )
        assert (refused, len(fetched)) == ([], 4)

    used = calls(turn)
    assert used["hmget"] - 1 == used["psetex"] == 100, "each is read once; one is for the queue"
    assert used["hlen"] == 200, "each is looked at once by its fetch and once later"
    assert total(used) <= 100 * GOALS["turn of 100 that were claimed ahead, per job"]


def test_a_turn_reads_the_first_delayed_job_once(add, taken, turn, queue):
    taken(queue, 1)
    add(queue, "{}", delay=100_000)
    assert total(turn(1)) <= GOALS["turn of 1"] + 1


def test_a_marked_job_costs_three_commands_more(taken, turn, client, queue):
    taken(queue, 1)
    client.sadd(f"bull:{queue}:stalled", "1")
    used = turn(1)
    assert total(used) <= GOALS["turn of 1"] + 3
    assert client.exists(f"bull:{queue}:stalled") == 0


def test_a_fetch_that_finds_nothing_asks_once_for_each_place(calls, fetch, queue):
    used = calls(lambda: fetch(queue))
    assert set(used.values()) <= {1, 2}
    assert used["zrange"] == 2, "delayed and prioritized, each once"


def test_starts_of_many_jobs_are_stamped_with_one_command_each(taken, calls, run, queue):
    taken(queue, 20, slots=0)
    each = [value for number in range(1, 21) for value in (str(number), "t", 1, NOW)]
    assert calls(lambda: run("fetch/start_jobs", queue, "w", *each)) == {"mget": 1, "exists": 1, "hset": 20}


def test_stalled_jobs_are_read_once(taken, calls, run, client, queue):
    """Each job that comes back is one HMGET, one count and two events; the rest does not depend on their number."""
    taken(queue, 1000)
    stalled = [str(number) for number in range(1, 1001)]
    client.delete(*(f"bull:{queue}:{job_id}:lock" for job_id in stalled))
    client.sadd(f"bull:{queue}:stalled", *stalled)

    def passes():
        reply = run("lock/move_stalled_jobs_to_wait", queue, NOW, 1, 30_000, 500, 0)
        assert (reply[0], len(reply)) == (1, 501)

    used = calls(passes)
    assert [used[name] for name in ("hmget", "hincrby", "xadd")] == [501, 500, 1000]
    assert total(used) - 2000 <= GOALS["stalled check beside its jobs"]


@pytest.mark.parametrize("completed", [0, 1])
def test_a_job_that_is_not_active_is_refused_and_nothing_is_left(taken, finish, client, queue, dump, events, completed):
    """A single job is not searched for before it is finished, so what was written is taken back."""
    taken(queue, 1)
    client.lrem(f"bull:{queue}:active", 1, "1")
    client.zadd(f"bull:{queue}:delayed", {"1": (NOW + 1000) * 4096})
    if completed:
        client.zadd(f"bull:{queue}:completed", {"1": NOW - 5})
    before, said = dump(queue), events(queue)
    refused, fetched = finish(queue, ("1", "1"), plain_fields=STARTED, fetch=1)
    assert (refused, fetched.jobs) == ({0: -3}, {})
    after = dump(queue)
    assert events(queue) == said
    before.pop("1:lock")
    if completed:
        before["completed"] = after["completed"]
    assert after == before


def test_a_stream_is_trimmed_as_by_one_trim_before_the_event(taken, finish, client, new_queue, dump):
    """A job whose fields are not known is read; the trim must be the same at each length of the stream."""
    client.config_set("stream-node-max-entries", 4)
    try:
        for limit in (0, 1, 3, 4, 7, 8):
            for length in range(1, 14):
                ours, plain = new_queue(), new_queue()
                for queue in (ours, plain):
                    taken(queue, 1)
                    client.delete(f"bull:{queue}:events")
                    client.hset(f"bull:{queue}:meta", "opts.maxLenEvents", limit)
                    for number in range(length):
                        client.xadd(f"bull:{queue}:events", {"event": "old", "jobId": number})
                client.xtrim(f"bull:{plain}:events", limit, approximate=True)
                client.xadd(f"bull:{plain}:events", {"event": "completed"})
                finish(ours, ("1", "1"), plain_fields=STARTED)
                assert client.xlen(f"bull:{ours}:events") == client.xlen(f"bull:{plain}:events"), (limit, length)
    finally:
        client.config_set("stream-node-max-entries", 100)


def test_a_full_server_lets_a_job_finish(taken, finish, client, queue, dump):
    """A first write that takes memory is refused there; see enter_finished."""
    taken(queue, 1)
    client.config_set("maxmemory", 1)
    try:
        assert finish(queue, ("1", "1"), plain_fields=STARTED)[0] == {}
    finally:
        client.config_set("maxmemory", 0)
    assert [job_id for job_id, _ in dump(queue)["completed"]] == ["1"]


@pytest.mark.parametrize("target", ["completed", "failed"])
def test_a_finished_set_of_another_type_refuses_a_single_job_before_anything_is_written(
    taken, finish, client, queue, dump, target
):
    taken(queue, 1)
    client.set(f"bull:{queue}:{target}", "something else")
    before = dump(queue)
    row = ("1", "1") if target == "completed" else ("1", "boom", "[]", 1)
    with pytest.raises(Exception, match="WRONGTYPE"):
        finish(queue, row, target=target, plain_fields=STARTED)
    assert dump(queue) == before
