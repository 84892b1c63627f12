"""Fetching: our scripts leave what BullMQ leaves, compared after every step."""

LIMITER = {"limiter": {"max": 2, "duration": 10_000}}


def test_a_fetch_takes_the_oldest_job_and_locks_it(pair):
    pair.add("first", {})
    pair.add("second", {})
    pair.fetch("t:0", lockDuration=30_000)
    pair.fetch("t:1", lockDuration=60_000)
    assert pair.fetch("t:2") is None


def test_a_named_worker_signs_its_jobs(pair):
    pair.add("work", {})
    pair.fetch("t:0", name="w1")


def test_an_empty_fetch_changes_nothing(pair):
    assert pair.fetch("t:0") is None


def test_an_empty_fetch_resets_the_priority_counter(pair):
    pair.add("work", {}, priority=1)
    pair.fetch("t:0")
    pair.fetch("t:1")
    pair.add("work", {}, priority=1)


def test_waiting_jobs_come_before_prioritized_ones(pair):
    pair.add("low", {}, priority=5)
    pair.add("high", {}, priority=1)
    pair.add("none", {})
    assert [pair.fetch(f"t:{n}") for n in range(3)] == ["3", "2", "1"]


def test_due_jobs_are_promoted_in_order(pair):
    pair.add("second", {}, delay=2000)
    pair.add("first", {}, delay=1000)
    pair.add("prioritized", {}, delay=1500, priority=2)
    pair.add("lifo", {}, delay=1800, lifo=True)
    pair.add("not yet", {}, delay=60_000)
    pair.tick(999)
    pair.fetch("t:0")
    pair.tick(1)
    assert pair.fetch("t:1") == "2"
    pair.tick(1000)
    assert [pair.fetch(f"t:{n}") for n in range(2, 6)] == ["4", "1", "3", None]


def test_due_jobs_are_promoted_even_while_paused(pair):
    pair.add("later", {}, delay=1000)
    pair.add("later and first", {}, delay=1000, priority=1)
    pair.pause()
    pair.tick(1000)
    assert pair.fetch("t:0") is None


def test_nothing_is_fetched_while_paused(pair):
    pair.add("work", {})
    pair.add("work", {}, priority=1)
    pair.pause()
    assert pair.fetch("t:0") is None
    pair.resume()
    assert pair.fetch("t:0") == "1"


def test_the_global_concurrency_is_kept(pair):
    pair.set_global_concurrency(2)
    for _ in range(3):
        pair.add("work", {})
    assert [pair.fetch(f"t:{n}") for n in range(3)] == ["1", "2", None]
    pair.complete("1", None, "t:0")
    assert pair.fetch("t:3") == "3"
    pair.remove_global_concurrency()
    pair.fetch("t:4")


def test_due_jobs_are_promoted_at_the_global_concurrency(pair):
    pair.set_global_concurrency(1)
    pair.add("runs", {})
    pair.add("later", {}, delay=1000)
    pair.fetch("t:0")
    pair.tick(1000)
    assert pair.fetch("t:1") is None


def test_a_worker_limit(pair):
    for _ in range(4):
        pair.add("work", {})
    assert [pair.fetch(f"t:{n}", **LIMITER) for n in range(3)] == ["1", "2", None]
    pair.expire("limiter")
    assert pair.fetch("t:3", **LIMITER) == "3"


def test_a_worker_without_a_limit_ignores_the_counter(pair):
    pair.add("work", {})
    pair.rate_limit(20_000)
    assert pair.fetch("t:0", **LIMITER) is None
    assert pair.fetch("t:1") == "1"


def test_a_global_limit(pair):
    pair.set_global_rate_limit(1, 10_000)
    for _ in range(3):
        pair.add("work", {})
    assert pair.fetch("t:0") == "1"
    assert pair.fetch("t:1") is None
    pair.expire("limiter")
    pair.remove_global_rate_limit()
    assert pair.fetch("t:2") == "2"


def test_the_worker_decides_the_duration_and_the_queue_the_maximum(pair):
    pair.set_global_rate_limit(1, 50_000)
    pair.add("work", {})
    pair.add("work", {})
    pair.fetch("t:0", limiter={"max": 5, "duration": 20_000})
    pair.fetch("t:1", limiter={"max": 5, "duration": 20_000})


def test_a_limited_fetch_promotes_due_jobs(pair):
    pair.add("later", {}, delay=1000)
    pair.tick(1000)
    pair.rate_limit(20_000)
    assert pair.fetch("t:0", **LIMITER) is None


def test_a_counter_without_a_time_to_live_limits_nobody(pair):
    pair.add("work", {})
    pair.command("SET", "{P}limiter", "2")
    assert pair.fetch("t:0", **LIMITER) == "1"


def test_a_wake_up_marker_of_an_old_version_is_dropped(pair):
    pair.add("work", {})
    pair.command("RPUSH", "{P}wait", "0:0")
    assert pair.fetch("t:0") == "1"


def test_prioritized_jobs_behind_a_wake_up_marker_of_an_old_version_are_fetched_one_by_one(pair):
    for _ in range(3):
        pair.add("work", {}, priority=3)
    pair.command("RPUSH", "{P}wait", "0:0")
    assert [pair.fetch(f"t:{n}") for n in range(4)] == ["1", "2", "3", None]


def test_many_fetched_at_once_are_many_fetched_singly(pair):
    for n in range(5):
        pair.add("work", {"n": n}, priority=n % 2)
    pair.add("later", {}, delay=1000)
    pair.tick(1000)
    assert len(pair.fetch_many(4, "t:0")) == 4
    assert len(pair.fetch_many(4, "t:1")) == 2
    assert pair.fetch_many(4, "t:2") == []


def test_a_batch_stops_at_the_limit(pair):
    for _ in range(5):
        pair.add("work", {})
    assert pair.fetch_many(4, "t:0", **LIMITER) == ["1", "2"]
    pair.expire("limiter")
    assert pair.fetch_many(1, "t:1", **LIMITER) == ["3"]
    assert pair.fetch_many(4, "t:2", **LIMITER) == ["4"]


def test_a_batch_stops_at_the_global_concurrency(pair):
    pair.set_global_concurrency(3)
    for _ in range(5):
        pair.add("work", {}, priority=1)
    assert pair.fetch_many(2, "t:0") == ["1", "2"]
    assert pair.fetch_many(4, "t:1") == ["3"]
    assert pair.fetch_many(4, "t:2") == []
