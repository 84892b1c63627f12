"""lua/inspect/get_counts.lua: how many jobs are in each state."""

SCRIPT = "inspect/get_counts"
LISTS = ("wait", "paused", "active")
SETS = ("prioritized", "delayed", "completed", "failed", "waiting-children", "repeat")


def test_no_types_no_counts(run, queue):
    assert run(SCRIPT, queue) == []


def test_an_empty_queue_counts_zero_everywhere(run, queue, dump):
    assert run(SCRIPT, queue, *LISTS, *SETS) == [0] * 9
    assert dump(queue) == {}


def test_every_state_is_counted_in_the_order_asked(run, client, queue):
    expected = []
    for size, name in enumerate((*LISTS, *SETS), start=1):
        expected.append(size)
        for n in range(size):
            if name in LISTS:
                client.lpush(f"bull:{queue}:{name}", n)
            else:
                client.zadd(f"bull:{queue}:{name}", {n: n})
    assert run(SCRIPT, queue, *LISTS, *SETS) == expected
    assert run(SCRIPT, queue, "failed", "waiting", "failed") == [7, 1, 7]


def test_an_old_wake_up_marker_is_not_counted(run, client, queue):
    client.rpush(f"bull:{queue}:wait", "1", "0:0")
    client.rpush(f"bull:{queue}:active", "0:5")
    assert run(SCRIPT, queue, "wait", "active", "paused") == [1, 0, 0]


def test_an_unknown_type_counts_zero_even_if_a_key_has_its_name(run, client, queue):
    client.hset(f"bull:{queue}:meta", "paused", 1)
    assert run(SCRIPT, queue, "meta", "nonsense", "") == [0, 0, 0]
