"""Jobs added by one side and worked by the other, with all kinds of data and options."""

import math

import pytest

from bullrush.errors import DataError
from tests.interop.sides.scripted import scripted_async
from tests.waiting import wait_until

from .our_worker import our_worker, work_off

VALUES = [
    None,
    True,
    0,
    -17,
    2**53 - 1,
    -(2**53 - 1),
    1.5,
    0.1 + 0.2,
    1e-7,
    1e21,
    1.7976931348623157e308,
    "",
    'größe ☃ 😀 \u2028\u2029 \x7f \\ / " \n \x00',
    [],
    {},
    [None, [], {}, [[1], {"a": []}]],
    {"ü": {"10": 1, "2": 2, "": 3}, "__proto__x": None},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_our_handler_gets_what_node_added_and_node_gets_what_it_returned(theirs, queue_name, redis_url, value):
    id = theirs.add("work", {"value": value})
    seen = []
    work_off(queue_name, redis_url, lambda job: seen.append(job.data) or job.data["value"])
    assert seen == [{"value": value}]
    job = theirs.job(id)
    assert theirs.call("getJobState", id) == "completed"
    assert job["data"] == {"value": value}
    assert job["returnvalue"] == value


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_their_processor_gets_what_we_added_and_we_get_what_it_returned(ours, theirs, value):
    job = ours.add("work", {"value": value})
    theirs.work()
    finished = ours.get_job(job.id)
    assert finished.returnvalue == {"value": value}
    assert finished.data == {"value": value}
    assert theirs.job(job.id)["data"] == {"value": value}


def test_a_whole_number_beyond_double_precision_is_rounded_by_node_alone(ours, theirs):
    job = ours.add("work", 2**53 + 1)
    assert ours.get_job(job.id).data == 2**53 + 1
    assert theirs.job(job.id)["data"] == 2**53


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, {1, 2}, object(), b"bytes"])
def test_a_value_that_node_could_not_read_is_never_sent(ours, value):
    with pytest.raises(DataError):
        ours.add("work", {"path": [value]})
    assert ours.get_job_counts("waiting")["waiting"] == 0


def test_a_job_without_data(ours, theirs):
    assert theirs.job(ours.add("work").id)["data"] == {}
    assert ours.get_job(theirs.add("work", {})).data == {}


OPTIONS = {
    "attempts": 4,
    "backoff": {"type": "exponential", "delay": 1000},
    "delay": 60_000,
    "priority": 7,
    "lifo": True,
    "removeOnComplete": {"count": 10, "age": 60},
    "removeOnFail": 5,
    "keepLogs": 3,
    "stackTraceLimit": 2,
    "sizeLimit": 1000,
    "timestamp": 1_700_000_000_000,
    "jobId": "mine",
}
OUR_OPTIONS = {
    "attempts": 4,
    "backoff": {"type": "exponential", "delay": 1000},
    "delay": 60_000,
    "priority": 7,
    "lifo": True,
    "remove_on_complete": {"count": 10, "age": 60},
    "remove_on_fail": 5,
    "keep_logs": 3,
    "stack_trace_limit": 2,
    "size_limit": 1000,
    "timestamp": 1_700_000_000_000,
    "job_id": "mine",
}


def test_node_reads_every_option_of_our_jobs(ours, theirs):
    ours.add("work", {"a": 1}, **OUR_OPTIONS)
    job = theirs.job("mine")
    assert job["opts"] == OPTIONS
    assert (job["priority"], job["delay"], job["timestamp"]) == (7, 60_000, 1_700_000_000_000)


def test_we_read_every_option_of_their_jobs(ours, theirs):
    theirs.add("work", {"a": 1}, **OPTIONS)
    job = ours.get_job("mine")
    assert job.opts == OUR_OPTIONS
    assert (job.priority, job.delay, job.timestamp) == (7, 60_000, 1_700_000_000_000)


def test_a_short_delay_is_kept_by_the_other_side(ours, theirs, queue_name, redis_url):
    with our_worker(queue_name, redis_url):
        id = theirs.add("work", {}, delay=300)
        job = wait_until(lambda: theirs.call("getJobState", id) == "completed" and theirs.job(id))
    assert 300 <= job["processedOn"] - job["timestamp"] < 5_000
    with theirs.worker():
        mine = ours.add("work", {}, delay=300)
        wait_until(lambda: ours.get_job_state(mine.id) == "completed")
    job = ours.get_job(mine.id)
    assert 300 <= job.processed_on - job.timestamp < 5_000


def test_their_order_is_our_order(theirs, queue_name, redis_url):
    for n in range(3):
        theirs.add("plain", {"n": f"plain {n}"})
        theirs.add("prioritized", {"n": f"prioritized {3 - n}"}, priority=3 - n)
        theirs.add("lifo", {"n": f"lifo {n}"}, lifo=True)
    seen = []
    work_off(queue_name, redis_url, lambda job: seen.append(job.data["n"]))
    lifo, plain = [f"lifo {n}" for n in (2, 1, 0)], [f"plain {n}" for n in range(3)]
    assert seen == [*lifo, *plain, "prioritized 1", "prioritized 2", "prioritized 3"]


def test_our_idle_worker_hears_their_add_at_once(theirs, queue_name, redis_url):
    with our_worker(queue_name, redis_url, drain_delay=60_000):
        for _ in range(3):
            id = theirs.add("work", {})
            wait_until(lambda id=id: theirs.call("getJobState", id) == "completed", seconds=15)


def test_their_idle_worker_hears_our_add_at_once(ours, theirs):
    with theirs.worker(drainDelay=60):
        for _ in range(3):
            job = ours.add("work", {})
            wait_until(lambda job=job: ours.get_job_state(job.id) == "completed", seconds=15)


@pytest.mark.parametrize("handler", ["def", "async def", "batch"])
def test_every_kind_of_handler_works_their_jobs(theirs, ours, queue_name, redis_url, handler):
    for n in range(20):
        theirs.add("work", {"n": n})
    if handler == "batch":
        work_off(queue_name, redis_url, batch_handler=lambda jobs: [job.data for job in jobs], batch_size=7)
    else:
        work_off(queue_name, redis_url, scripted_async if handler == "async def" else None, concurrency=4)
    assert sorted(job["returnvalue"]["n"] for job in theirs.call("getCompleted", 0, 99)) == [*range(20)]
    assert len(ours.get_completed()) == 20


def test_a_backoff_goes_on_where_the_other_side_left_it(ours, theirs, queue_name, redis_url):
    data = {"runs": [[["throw", "one"]], [["throw", "two"]], [["throw", "three"]], [["return", "done"]]]}
    id = theirs.add("work", data, attempts=4, backoff={"type": "exponential", "delay": 60_000})
    for turn, delay in enumerate([60_000, 120_000, 240_000]):
        theirs.work() if turn % 2 else work_off(queue_name, redis_url)
        assert theirs.call("getJobState", id) == "delayed"
        assert ours.get_job(id).delay == delay
        assert theirs.job(id)["attemptsMade"] == turn + 1
        ours.get_job(id).promote() if turn % 2 else theirs.on_job(id, "promote")
    theirs.work()
    job = ours.get_job(id)
    assert (job.attempts_made, job.attempts_started, job.returnvalue) == (4, 4, "done")
    assert job.failed_reason == "three"
    assert len(job.stacktrace) == len(theirs.job(id)["stacktrace"]) == 3
    assert job.stacktrace[0].startswith("RuntimeError: one\n")
    assert job.stacktrace[1].startswith("Error: two\n")


@pytest.mark.parametrize("last", ["ours", "theirs"])
def test_attempts_are_used_up_by_both_sides_together(ours, theirs, queue_name, redis_url, last):
    job = ours.add("work", {"runs": [[["throw", "boom"]]]}, attempts=2, backoff=60_000)
    if last == "ours":
        theirs.work()
        job.promote()
        work_off(queue_name, redis_url)
    else:
        work_off(queue_name, redis_url)
        theirs.on_job(job.id, "promote")
        theirs.work()
    assert theirs.call("getJobState", job.id) == "failed"
    assert ours.get_job(job.id).attempts_made == 2


def test_a_real_backoff_is_waited_for_by_the_other_side(ours, theirs, queue_name, redis_url, redis):
    job = ours.add("work", {"runs": [[["throw", "boom"]], [["return", "done"]]]}, attempts=2, backoff=500)
    theirs.work()
    due = redis.zscore(f"bull:{queue_name}:delayed", job.id) // 4096
    with our_worker(queue_name, redis_url):
        wait_until(lambda: ours.get_job_state(job.id) == "completed")
    job = ours.get_job(job.id)
    assert job.returnvalue == "done"
    assert job.processed_on >= due
