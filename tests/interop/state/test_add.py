"""Adding: our scripts leave what BullMQ leaves, compared after every step."""

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


def test_a_standard_job(any_pair):
    any_pair.add("work", {"a": 1})
    any_pair.add("work", {"a": 2})


def test_a_lifo_job_goes_to_the_pop_end(any_pair):
    any_pair.add("first", {})
    any_pair.add("second", {}, lifo=True)
    any_pair.add("third", {}, lifo=False)


def test_a_prioritized_job(any_pair):
    any_pair.add("low", {}, priority=10)
    any_pair.add("high", {}, priority=1)
    any_pair.add("none", {}, priority=0)
    any_pair.add("highest number", {}, priority=2_097_151)


def test_a_delayed_job(any_pair):
    any_pair.add("later", {}, delay=540_000)
    any_pair.add("sooner", {}, delay=120_000)
    any_pair.add("not at all", {}, delay=0)


def test_delayed_jobs_of_one_moment_keep_their_order(any_pair):
    any_pair.add_bulk([{"name": "same", "data": n, "opts": {"delay": 60_000}} for n in range(3)])


def test_a_delayed_job_with_a_priority(any_pair):
    any_pair.add("later and first", {}, delay=540_000, priority=3)


def test_a_delay_counts_from_the_jobs_own_timestamp(any_pair):
    any_pair.add("dated", {}, delay=540_000, timestamp=1_700_000_000_000)


def test_a_custom_id(any_pair):
    any_pair.add("mine", {}, jobId="order-17")
    any_pair.add("automatic", {})
    any_pair.add("a scheduler's form", {}, jobId="a:b:c")
    any_pair.add("unicode", {}, jobId="größe-☃")


@pytest.mark.parametrize("opts", [{}, {"delay": 60_000}, {"priority": 2}, {"lifo": True}])
def test_a_duplicate_id_only_takes_a_number_and_says_so(any_pair, opts):
    any_pair.add("mine", {"first": True}, jobId="order-17")
    any_pair.add("other name", {"first": False}, jobId="order-17", **opts)
    any_pair.add("automatic", {})


def test_all_other_options_are_stored(any_pair):
    any_pair.add("work", {"a": 1}, **ALL_OPTIONS)
    any_pair.add("work", {"a": 1}, backoff=500, removeOnComplete=5, removeOnFail={"age": 60}, attempts=0)
    any_pair.add("work", {"a": 1}, removeOnComplete=False, removeOnFail=0, backoff={"type": "mine"})
    any_pair.add("work", {"a": 1}, keepLogs=0)


def test_unknown_options_are_stored(pair):
    pair.add("work", {"a": 1}, unknown={"kept": "as/it is"})


@pytest.mark.parametrize(
    "data",
    [None, "text", 17, True, [], {}, {"snow": "☃", "deep": [{"n": None}]}, {"big": 9007199254740991}, 'a\u2028b/\\"\n'],
)
def test_any_json_value_as_data(any_pair, data):
    any_pair.add("value", data)


@pytest.mark.parametrize("name", ["", "with space", "__default__", "ünïcode", "a:b"])
def test_any_text_as_a_name(any_pair, name):
    any_pair.add(name, {})


def test_a_bulk_of_every_kind(any_pair):
    any_pair.add_bulk(
        [
            {"name": "a", "data": 1},
            {"name": "a", "data": 2},
            {"name": "b", "data": 3, "opts": {"priority": 1}},
            {"name": "b", "data": 4, "opts": {"delay": 120_000}},
            {"name": "b", "data": 5, "opts": {"delay": 120_000}},
            {"name": "c", "data": 6, "opts": {"jobId": "six"}},
            {"name": "c", "data": 7, "opts": {"jobId": "seven"}},
            {"name": "c", "data": 8, "opts": {"jobId": "six"}},
            {"name": "d", "data": 9, "opts": {"lifo": True}},
            {"name": "d", "data": 10, "opts": {"lifo": True}},
            {"name": "e", "data": 11, "opts": {"priority": 1}},
        ]
    )


def test_adding_while_paused(any_pair):
    any_pair.pause()
    any_pair.add("standard", {})
    any_pair.add("lifo", {}, lifo=True)
    any_pair.add("prioritized", {}, priority=1)
    any_pair.add("delayed", {}, delay=120_000)
    any_pair.add_bulk([{"name": "bulk", "data": 1}, {"name": "bulk", "data": 2}])


def test_adding_at_the_global_concurrency_wakes_nobody(any_pair):
    any_pair.set_global_concurrency(1)
    any_pair.add("runs", {})
    any_pair.foreign_fetch("t:0")
    any_pair.command("DEL", "{P}marker")
    any_pair.add("standard", {})
    any_pair.add("prioritized", {}, priority=1)
    any_pair.add("delayed", {}, delay=120_000)


def test_delays_of_one_moment_count_from_any_time(pair):
    pair.add("same", {}, delay=1000)
    pair.tick(500)
    pair.add("same", {}, delay=500)


def test_the_event_length_is_ensured_when_nobody_set_it(pair):
    pair.command("DEL", "{P}meta")
    pair.add("work", {})
