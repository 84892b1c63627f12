"""Adding: our scripts leave what BullMQ 5.62.0 leaves, compared after every step."""

import pytest

ALL_OPTIONS = {
    "attempts": 3,
    "backoff": {"type": "exponential", "delay": 1000, "jitter": 0.5},
    "removeOnComplete": {"age": 3600, "count": 1000},
    "removeOnFail": True,
    "stackTraceLimit": 4,
    "keepLogs": 20,
    "sizeLimit": 100_000,
    "timestamp": 1_700_000_000_123,
}


def test_a_standard_job(pair):
    pair.add("work", {"a": 1})
    pair.add("work", {"a": 2})


def test_a_lifo_job_goes_to_the_pop_end(pair):
    pair.add("first", {})
    pair.add("second", {}, lifo=True)
    pair.add("third", {}, lifo=False)


def test_a_prioritized_job(pair):
    pair.add("low", {}, priority=10)
    pair.add("high", {}, priority=1)
    pair.add("none", {}, priority=0)
    pair.add("highest number", {}, priority=2_097_151)


def test_a_delayed_job(pair):
    pair.add("later", {}, delay=5000)
    pair.add("sooner", {}, delay=1000)
    pair.add("not at all", {}, delay=0)


def test_delayed_jobs_of_one_moment_keep_their_order(pair):
    for _ in range(3):
        pair.add("same", {}, delay=1000)
    pair.tick(500)
    pair.add("same again", {}, delay=500)


def test_a_delayed_job_with_a_priority(pair):
    pair.add("later and first", {}, delay=5000, priority=3)


def test_a_delay_counts_from_the_jobs_own_timestamp(pair):
    pair.add("dated", {}, delay=5000, timestamp=1_700_000_000_000)


def test_a_custom_id(pair):
    pair.add("mine", {}, jobId="order-17")
    pair.add("automatic", {})
    pair.add("a scheduler's form", {}, jobId="a:b:c")
    pair.add("unicode", {}, jobId="größe-☃")


@pytest.mark.parametrize("opts", [{}, {"delay": 1000}, {"priority": 2}, {"lifo": True}])
def test_a_duplicate_id_only_takes_a_number_and_says_so(pair, opts):
    pair.add("mine", {"first": True}, jobId="order-17")
    pair.add("other name", {"first": False}, jobId="order-17", **opts)
    pair.add("automatic", {})


def test_all_other_options_are_stored(pair):
    pair.add("work", {"a": 1}, **ALL_OPTIONS)
    pair.add("work", {"a": 1}, backoff=500, removeOnComplete=5, removeOnFail={"age": 60}, attempts=0)
    pair.add("work", {"a": 1}, removeOnComplete=False, removeOnFail=0, backoff={"type": "mine"})
    pair.add("work", {"a": 1}, unknown={"kept": "as/it is"}, keepLogs=0)


@pytest.mark.parametrize(
    "data",
    [None, "text", 17, True, [], {}, {"snow": "☃", "deep": [{"n": None}]}, {"big": 9007199254740991}, "a\u2028b/\\\"\n"],
)
def test_any_json_value_as_data(pair, data):
    pair.add("value", data)


@pytest.mark.parametrize("name", ["", "with space", "__default__", "ünïcode", "a:b"])
def test_any_text_as_a_name(pair, name):
    pair.add(name, {})


def test_a_bulk_of_every_kind(pair):
    pair.add_bulk(
        [
            {"name": "a", "data": 1},
            {"name": "a", "data": 2},
            {"name": "b", "data": 3, "opts": {"priority": 1}},
            {"name": "b", "data": 4, "opts": {"delay": 100}},
            {"name": "b", "data": 5, "opts": {"delay": 100}},
            {"name": "c", "data": 6, "opts": {"jobId": "six"}},
            {"name": "c", "data": 7, "opts": {"jobId": "seven"}},
            {"name": "c", "data": 8, "opts": {"jobId": "six"}},
            {"name": "d", "data": 9, "opts": {"lifo": True}},
            {"name": "d", "data": 10, "opts": {"lifo": True}},
            {"name": "e", "data": 11, "opts": {"priority": 1}},
        ]
    )


def test_adding_while_paused(pair):
    pair.pause()
    pair.add("standard", {})
    pair.add("lifo", {}, lifo=True)
    pair.add("prioritized", {}, priority=1)
    pair.add("delayed", {}, delay=1000)
    pair.add_bulk([{"name": "bulk", "data": 1}, {"name": "bulk", "data": 2}])


def test_adding_at_the_global_concurrency_wakes_nobody(pair):
    pair.set_global_concurrency(1)
    pair.add("runs", {})
    pair.fetch("t:0")
    pair.command("DEL", "{P}marker")
    pair.add("standard", {})
    pair.add("prioritized", {}, priority=1)
    pair.add("delayed", {}, delay=1000)


def test_the_event_length_is_ensured_when_nobody_set_it(pair):
    pair.command("DEL", "{P}meta")
    pair.add("work", {})
