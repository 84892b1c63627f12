"""The parts of `drain` without Spark: what the driver checks, the worker of a run, and jobs that were left active."""

import functools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
import pytest
from redis import Redis

from bullrush import Queue, Worker, errors
from bullrush.errors import (
    ConnectionLostError,
    InvalidOptionError,
    QueuePausedError,
    RedisServerError,
    RunExpiredError,
)
from bullrush.spark.address import Address
from bullrush.spark.draining.arguments import check_results_stay, check_worker, read_stop
from bullrush.spark.draining.driver_queries import _Asked, look
from bullrush.spark.draining.held_jobs import held_jobs, release_jobs, still_held
from bullrush.spark.draining.pickling import check_can_be_sent
from bullrush.spark.draining.run_rows import Piece, RunRows, divided
from bullrush.spark.draining.run_worker import RunWorker
from bullrush.spark.root_cause import root_cause
from tests.waiting import wait_until

SEED = pa.RecordBatch.from_pydict({"id": [1]})
COLUMNS = pa.schema([("jobId", pa.string()), ("state", pa.string()), ("result", pa.string())])


@pytest.fixture
def address(queue: Queue, redis_url: str) -> Address:
    return Address(queue.name, redis_url, "bull")


def drained(
    address: Address, handler: Callable, run: str = "r", options: dict | None = None, **stop: object
) -> list[dict]:
    """Run one worker of a run, and return the rows of its task."""
    stop = {"until": "drained", "max_jobs": None, "max_seconds": None, "horizon": 60_000, **stop}
    work = RunWorker(address, handler, options or {}, stop, run, beat=0.05)
    return pa.Table.from_batches(list(work(iter([SEED])))).to_pylist()


def test_a_task_yields_only_counts_and_the_rows_are_read_from_redis(queue: Queue, address: Address) -> None:
    queue.add_bulk([{"name": "n", "data": n, "opts": {"remove_on_complete": n == 5}} for n in range(20)])
    assert drained(address, lambda job: job.data * 2) == [
        {"completed": 20, "failed": 0, "retried": 0, "paused": None, "profile": None}
    ]
    for _ in range(2):
        batches = [batch for part in range(3) for batch in rows_of(address, stop=20, parts=3, part=part)]
        rows = pa.Table.from_batches(batches).to_pylist()
        assert sorted(row["jobId"] for row in rows) == sorted(str(n) for n in range(1, 21))
        assert {row["jobId"] for row in rows if row["state"] == "removed"} == {"6"}
        assert sorted(int(row["result"]) for row in rows if row["state"] == "completed") == [
            2 * n for n in range(20) if n != 5
        ]


def rows_of(address: Address, stop: int, parts: int = 1, part: int = 0) -> list[pa.RecordBatch]:
    numbers = pa.RecordBatch.from_pydict({"id": [part]})
    pieces = divided([Piece(address.name, 0, stop)], -(-stop // parts))
    return list(RunRows(address, "r", pieces, COLUMNS, None)(iter([numbers])))


NESTED = pa.schema(
    [("point", pa.struct([("x", pa.int64())])), ("tags", pa.list_(pa.string())), ("all", pa.map_("string", "int64"))]
)


def test_jobs_that_others_ran_later_or_that_took_an_id_again_are_no_results_of_the_run(
    queue: Queue, address: Address, redis: Redis
) -> None:
    def nested(job) -> dict:
        return {"point": {"x": job.data}, "tags": ["a"], "all": {"n": job.data}}

    queue.add_bulk([{"name": "n", "data": n, "opts": {"job_id": f"j{n}"}} for n in range(5)])
    drained(address, nested)
    queue.get_job("j1").retry("completed")
    drained(address, lambda job: "later", run="r2")
    queue.remove("j2")
    queue.add("n", 2, job_id="j2")
    queue.remove("j3")
    queue.get_job("j4").retry("completed")  # waits, and this run ran it last
    numbers = pa.RecordBatch.from_pydict({"id": [0]})
    read = RunRows(address, "r", [[Piece(address.name, 0, 5)]], COLUMNS, NESTED)(iter([numbers]))
    rows = {row["jobId"]: row for row in pa.Table.from_batches(list(read)).to_pylist()}
    assert {job_id: row["state"] for job_id, row in rows.items()} == {
        "j0": "completed", "j1": "removed", "j2": "removed", "j3": "removed", "j4": "waiting"
    }  # fmt: skip
    assert rows["j0"] == {
        "jobId": "j0", "state": "completed", "result": '{"point":{"x":0},"tags":["a"],"all":{"n":0}}',
        "point": {"x": 0}, "tags": ["a"], "all": [("n", 0)],
    }  # fmt: skip
    nulls = dict.fromkeys(("result", "point", "tags", "all"))
    assert all(rows[job_id] == {"jobId": job_id, "state": "removed", **nulls} for job_id in ("j1", "j2", "j3"))


def test_a_job_has_a_row_for_each_time_that_the_run_finished_it(queue: Queue, address: Address) -> None:
    queue.add("n", 1)
    drained(address, lambda job: "first")
    queue.get_job("1").retry("completed")
    drained(address, lambda job: "second")
    rows = pa.Table.from_batches(rows_of(address, stop=2)).to_pylist()
    assert rows == [{"jobId": "1", "state": "completed", "result": '"second"'}] * 2


def test_results_whose_list_is_gone_are_an_error_and_not_fewer_rows(queue: Queue, address: Address) -> None:
    queue.add_bulk([{"name": "n"}] * 3)
    drained(address, lambda job: None)
    with pytest.raises(RunExpiredError, match="2 of the 5 results are gone"):
        rows_of(address, stop=5)


def test_a_task_without_rows_gets_no_worker(queue: Queue, address: Address) -> None:
    queue.add("n")
    assert list(RunWorker(address, print, {}, {}, "r")(iter([SEED.slice(0, 0)]))) == []
    assert queue.get_waiting_count() == 1


def test_a_queue_that_is_paused_meanwhile_ends_the_task_after_its_running_jobs(queue: Queue, address: Address) -> None:
    def handler(job) -> None:
        if queue.is_paused():
            return
        queue.pause()

    queue.add_bulk([{"name": "n"}] * 500)
    (row,) = drained(address, handler, until=None, max_seconds=60)
    assert row["paused"]
    assert queue.get_active_count() == 0
    assert queue.get_completed_count() == row["completed"] < 500


def test_a_task_ends_although_a_handler_hangs_and_its_job_goes_back_to_the_queue(
    queue: Queue, address: Address
) -> None:
    gate = threading.Event()
    queue.add_bulk([{"name": "n", "data": n} for n in range(4)])
    options = {"concurrency": 2, "lock_duration": 500, "stalled_interval": 500}
    try:
        (row,) = drained(address, lambda job: job.data == 2 and gate.wait(60), options=options, max_seconds=0.3)
        assert not gate.is_set()
        assert row == {"completed": 3, "failed": 0, "retried": 0, "paused": None, "profile": None}
        assert still_held(address, "r") == ["3"]
        assert release_jobs(address, "r", 1, 20) == 1
        assert queue.get_ranges(["wait"]) == ["3"]
    finally:
        gate.set()


def test_a_task_says_it_is_alive_while_it_has_nothing_to_report(queue: Queue, address: Address) -> None:
    gate = threading.Event()
    queue.add("n")
    stop = {"until": "drained", "max_jobs": None, "max_seconds": None, "horizon": 0}
    batches = RunWorker(address, lambda job: gate.wait(20), {}, stop, "r", beat=0.01)(iter([SEED]))
    assert [next(batches).num_rows for _ in range(5)] == [0] * 5
    gate.set()
    assert sum(batch.num_rows for batch in batches) == 1


def test_a_task_whose_thread_cannot_start_fails_with_the_reason(
    queue: Queue, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    queue.add("n")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        drained(address, lambda job: None)


MEMORY_PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
import pyspark.worker, pandas, pyarrow as pa
from bullrush.spark.address import Address
from bullrush.spark.draining.run_worker import RunWorker
stop = {"until": "drained", "max_jobs": None, "max_seconds": None, "horizon": 0}
# An address space as full as that of Spark's Python, which has its own threads and modules.
filler = bytearray(16 << 20)
work = RunWorker(Address(sys.argv[1], sys.argv[2], "bull"), lambda job: 1, {"concurrency": 16}, stop, "r")
print(sum(batch.num_rows for batch in work(iter([pa.RecordBatch.from_pydict({"id": [1]})]))))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux limits reserved memory")
def test_a_worker_with_sixteen_threads_fits_into_512_mb(queue: Queue, redis_url: str) -> None:
    queue.add_bulk([{"name": "n"}] * 100)
    program = [sys.executable, "-c", MEMORY_PROGRAM, queue.name, redis_url]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("1\n", "")
    assert queue.get_completed_count() == 100


@pytest.mark.parametrize("ahead", [False, True])
def test_jobs_that_a_dead_worker_held_go_back_to_the_queue(
    queue: Queue, address: Address, redis: Redis, ahead: bool
) -> None:
    queue.add_bulk([{"name": "n"}] * 3)
    dead = Worker(queue.name, url=address.url, run="r", name="r.1", lock_duration=500)
    for _ in range(2):
        job = dead.get_next_job(f"{dead.id}:1")
    other = Worker(queue.name, url=address.url)
    other.get_next_job(f"{other.id}:1")
    if ahead:
        redis.hdel(f"bull:{queue.name}:{job.id}", "pb", "processedOn", "ats")
    assert {job_id: 0 < left <= 0.5 for job_id, left in held_jobs(queue, "r").items()} == {"1": True, "2": True}
    assert release_jobs(address, "r", 1, None) == 2
    assert held_jobs(queue, "r") == {}
    assert sorted(queue.get_ranges(["wait", "active"])) == ["1", "2", "3"]
    assert queue.get_active_count() == 1, "the job of the other worker"


def test_jobs_of_a_worker_that_lives_are_waited_for_until_the_time_is_over(queue: Queue, address: Address) -> None:
    gate = threading.Event()
    queue.add("n")
    with Worker(queue.name, lambda job: gate.wait(20), url=address.url, run="r", autorun=True):
        wait_until(lambda: held_jobs(queue, "r"))
        began = time.monotonic()
        assert release_jobs(address, "r", 1, 0.3) is None
        assert time.monotonic() - began < 15
        threading.Timer(0.3, gate.set).start()
        assert release_jobs(address, "r", 1, None) == 0, "it finished its job"
    assert queue.get_completed_count() == 1


def test_many_active_jobs_are_looked_through(queue: Queue, address: Address, redis: Redis) -> None:
    ids = [str(number) for number in range(5_500)]
    redis.rpush(f"bull:{queue.name}:active", *ids)
    redis.mset({f"bull:{queue.name}:{job_id}:lock": "other:1" for job_id in ids})
    redis.mset({f"bull:{queue.name}:{job_id}:lock": "r.a:1" for job_id in ("0", "4999", "5000", "5499")})
    assert set(held_jobs(queue, "r")) == {"0", "4999", "5000", "5499"}


@pytest.mark.parametrize("name", ["remove_on_complete", "remove_on_fail"])
@pytest.mark.parametrize("rule", [True, 0, {"count": 0}, {"age": 0}, {"age": 3600, "count": 0}])
def test_a_rule_that_removes_the_results_at_once_is_refused(name: str, rule: object) -> None:
    with pytest.raises(InvalidOptionError, match=r"results='tasks'"):
        check_results_stay({name: rule})


@pytest.mark.parametrize("rule", [False, None, 1000, {"age": 3600}, {"count": -1}, {"count": 5, "age": 60}])
def test_a_rule_that_keeps_results_is_fine(rule: object) -> None:
    check_results_stay({"remove_on_complete": rule, "remove_on_fail": rule})


def test_checking_the_options_never_starts_a_worker(queue: Queue, address: Address) -> None:
    queue.add("n")
    for what in ("drain", "worker"):
        with pytest.raises(InvalidOptionError, match=f"{what} runs its workers in tasks: leave autorun out"):
            check_worker(what, address, lambda job: None, {"autorun": True})
    check_worker("drain", address, lambda job: None, {"autorun": False})
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(f"bullrush-{queue.name}")]


@pytest.mark.parametrize("horizon", [-1, timedelta(seconds=-1)])
def test_a_horizon_before_now_is_refused(horizon: object) -> None:
    with pytest.raises(InvalidOptionError, match="horizon must not be negative"):
        read_stop("drained", None, None, horizon)


class Client:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, job) -> None:
        self.lock.acquire()

    def work(self, job) -> None:
        self.lock.acquire()


def with_default(job, redis=None) -> None: ...


def test_a_handler_that_cannot_be_sent_names_the_object() -> None:
    inner = Redis()

    def uses_closure(job) -> object:
        return inner.get("x")

    def uses_another_function(job) -> object:
        return [uses_closure(job) for _ in range(3)]

    module = {"client": Redis(), "__name__": "__main__"}
    exec("def uses_global(job):\n    return [client.get(n) for n in 'ab']", module)
    lock = threading.Lock()
    for handler, found in [
        (uses_closure, r"it uses 'inner' \(redis.Redis\), which cannot be pickled. Open it inside the handler"),
        (uses_another_function, r"'inner' \(redis.Redis\)"),
        (module["uses_global"], r"'client' \(redis.Redis\)"),
        (functools.partial(with_default, redis=Redis()), r"'redis' \(redis.Redis\)"),
        (Client(), r"'self.lock' \(_thread.lock\)"),
        (Client().work, r"'self.lock' \(_thread.lock\)"),
        (lambda job, lock=lock: None, r"'lock' \(_thread.lock\)"),
    ]:
        with pytest.raises(InvalidOptionError, match=found):
            check_can_be_sent("the handler", handler)
    check_can_be_sent("the handler", lambda job: uses_nothing(job))


def uses_nothing(job) -> None: ...


def test_a_question_that_fails_in_a_task_is_answered_with_its_error(address: Address, tmp_path) -> None:
    def answer(address: Address) -> object:
        asked = _Asked(address, look, ("r",))
        return json.loads(next(asked(iter([SEED]))).column(0)[0].as_py())

    assert answer(address) == [[{address.name: 0}, None], None, []]
    missing = Address("q", f"file:{tmp_path}/none", "bull")
    _, error, (text,) = answer(missing)
    assert error == "InvalidOptionError" and "none" in text
    wrong = Address("q", address.url.replace("redis://", "redis://:nope@"), "bull")
    _, error, arguments = answer(wrong)
    assert type(getattr(errors, error)(*arguments)) is RedisServerError


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x\nbullrush.errors.QueueNameError: no\nmore\n at org.apache.Spark", "QueueNameError: no"),
        ('y\nTraceback (most recent call last):\n  File "a"\n    b\nKeyError: 3\n\tat org.x', "KeyError: 3"),
        (
            "An error\n: org.apache.X: Job aborted due to stage failure: Task 0: crashed\nDriver",
            "X: Job aborted due to",
        ),
        ("nothing known\nmore", "Exception: nothing known"),
    ],
)
def test_the_reason_of_failed_tasks_is_found_in_the_text_of_spark(text: str, reason: str) -> None:
    assert str(root_cause(Exception(text))).startswith(reason)


def test_redis_that_cannot_be_used_is_an_error_of_the_driver(queue: Queue, redis_url: str, tmp_path) -> None:
    with pytest.raises(ConnectionLostError):
        look(Address("q", f"unix://{tmp_path}/no.sock", "bull"), "r")
    queue.pause()
    assert look(Address(queue.name, redis_url, "bull"), "r") == ({queue.name: 0}, queue.name)
    assert issubclass(QueuePausedError, Exception)
