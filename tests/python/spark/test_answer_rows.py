"""What `call` does inside a task, without Spark."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from bullrush import Queue, Worker
from bullrush.spark.address import Address
from bullrush.spark.tasks.answer_rows import ERROR, RESULT, AnswerRows
from bullrush.spark.tasks.open_calls import OpenCalls
from tests.waiting import wait_until
from tests.watching import commands_about

Workers = Callable[..., Worker]


def rows(count: int, start: int = 0) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(range(start, start + count), pa.int64())})


def answering(queue: Queue, url: str, **options: Any) -> AnswerRows:
    given = {"name": None, "name_column": None, "data": None, "job_id": None, "scope": "day", "opts": {}}
    return AnswerRows(
        Address.on_driver(queue.name, url, None), ["n"], **{**given, "in_flight": 20, "timeout": 30.0, **options}
    )


def table(batches: Iterator[pa.RecordBatch]) -> dict[str, list[Any]]:
    return pa.Table.from_batches(batches).to_pydict()


def test_each_row_gets_its_own_result_in_the_order_of_the_rows(queue: Queue, redis_url: str, worker: Workers) -> None:
    # Jobs end in another order than they were added.
    worker(lambda job: time.sleep(job.data["n"] % 3 / 100) or {"twice": 2 * job.data["n"]}, concurrency=8, autorun=True)
    answered = table(answering(queue, redis_url).answered([rows(60), rows(40, 60)], 0))
    assert answered["n"] == list(range(100))
    assert answered[RESULT] == [f'{{"twice":{2 * n}}}' for n in range(100)]
    assert answered[ERROR] == [None] * 100


def test_no_more_jobs_than_allowed_are_unfinished(queue: Queue, redis_url: str, worker: Workers) -> None:
    most = 0

    def watch(job: Any) -> None:
        nonlocal most
        counts = queue.get_job_counts("waiting", "active")
        most = max(most, counts["waiting"] + counts["active"])

    worker(watch, concurrency=2, autorun=True)
    assert len(table(answering(queue, redis_url, in_flight=12).answered([rows(100)], 0))["n"]) == 100
    assert 2 <= most <= 12


def test_a_failed_job_and_a_removed_job_are_errors_of_their_rows(queue: Queue, redis_url: str, worker: Workers) -> None:
    def picky(job: Any) -> int:
        if job.data["n"] == 1:
            raise ValueError("no ones")
        if job.data["n"] == 2:
            queue.remove(waiting.id)
        return 0

    answers = answering(queue, redis_url, scope="", job_id="n").answered([rows(4)], 0)
    waiting = queue.add("n", {"n": 3}, job_id="n-3", delay=3_600_000)
    worker(picky, autorun=True)
    answered = table(answers)
    assert answered[RESULT] == ["0", None, "0", None]
    assert answered[ERROR] == [None, "no ones", None, "job n-3 was removed before its result was read"]


def test_a_job_without_a_worker_is_late_and_says_so(queue: Queue, redis_url: str) -> None:
    answered = table(answering(queue, redis_url, timeout=0.05).answered([rows(2)], 0))
    assert answered[RESULT] == [None, None]
    assert "no result within 0.05 s; no worker has started the job" in answered[ERROR][0]


def test_a_repeated_task_runs_no_job_twice_and_equal_rows_are_two_jobs(
    queue: Queue, redis_url: str, worker: Workers
) -> None:
    runs = []
    worker(lambda job: runs.append(job.id) or len(runs), autorun=True)
    twins = pa.record_batch({"n": [7, 7, 8]})
    for in_flight in (1, 20):  # whether or not the equal rows are in one call
        answered = table(answering(queue, redis_url, in_flight=in_flight).answered([twins], 3))
        assert sorted(answered[RESULT]) == ["1", "2", "3"]
    assert len(runs) == 3


def test_two_rows_with_one_id_share_one_job(queue: Queue, redis_url: str, worker: Workers) -> None:
    worker(lambda job: "done", autorun=True)
    for step in (2, 20):
        batch = pa.record_batch({"n": ["a", "b", "a", "a", "b"]})
        answered = table(answering(queue, redis_url, job_id="n", in_flight=step).answered([batch], 0))
        assert answered[RESULT] == ['"done"'] * 5
    assert queue.get_completed_count() == 2


def test_a_slow_job_holds_up_no_others(queue: Queue, redis_url: str, worker: Workers) -> None:
    def first_waits_for_the_last(job: Any) -> None:
        if job.data["n"] == 0:
            wait_until(lambda: queue.get_completed_count() == 149, seconds=20)

    worker(first_waits_for_the_last, concurrency=4, autorun=True)
    assert table(answering(queue, redis_url).answered([rows(150)], 0))["n"] == list(range(150))


def test_open_jobs_cost_redis_little_while_nothing_happens(queue: Queue, redis: Any, worker: Workers) -> None:
    pauses: list[float] = []
    ids = [queue.add("wait").id for _ in range(1000)]
    calls = OpenCalls(queue, 60, sleep=pauses.append)
    calls.add(ids)
    with commands_about(queue.name, redis) as commands:
        for _ in range(40):
            assert calls.ended() == {}
        reads = commands().count("HMGET")
    assert reads / sum(pauses) < 1000, "reads per second"
    worker(lambda job: None, concurrency=4).run(until="drained")
    looks = 0
    while len(calls):
        calls.ended()
        looks += 1
    assert looks < 30, "the looks grow while much is found"
