"""Jobs of real queues as Arrow batches."""

import itertools
import json
import threading
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from redis import Redis

from bullrush import Queue
from bullrush.arrow import ArrowReader
from bullrush.errors import InvalidOptionError

TIME = pa.timestamp("us", "UTC")
PAGE = 5_000


def rows(batches) -> list[dict]:
    return list(itertools.chain.from_iterable(batch.to_pylist() for batch in batches))


def ids_of(batches) -> list[str]:
    return [row["jobId"] for row in rows(batches)]


def finish(redis: Redis, queue: Queue, scores: dict[str, int], state: str = "completed") -> None:
    """Write finished jobs as any client may have left them."""
    pipeline = redis.pipeline(transaction=False)
    for job_id, at in scores.items():
        value = {"returnvalue": "1"} if state == "completed" else {"failedReason": "no"}
        pipeline.hset(f"bull:{queue.name}:{job_id}", mapping={"name": "n", "timestamp": 1, "finishedOn": at, **value})
        pipeline.zadd(f"bull:{queue.name}:{state}", {job_id: at})
    pipeline.execute()


def test_every_column_has_the_value_of_the_job(queue: Queue, worker) -> None:
    def handle(job):
        if job.name == "bad":
            raise ValueError("no luck")
        return {"score": 0.5, "tags": ["a", "b"]}

    queue.add("good", {"n": 1}, job_id="g", priority=3, attempts=2)
    queue.add("bad", {"n": 2}, job_id="b")
    queue.add("later", {"n": 3}, job_id="l", delay=3_600_000)
    worker(handle, name="w1").run(until="drained", horizon=0)
    texts = (
        "jobId",
        "name",
        "state",
        "data",
        "opts",
        "processedBy",
        "returnvalue",
        "failedReason",
        "parentKey",
        "error",
    )
    numbers = ("delay", "priority", "attemptsMade", "attemptsStarted", "stalledCounter", "attempts")
    schema = pa.schema(
        [(name, pa.string()) for name in texts]
        + [(name, pa.int32() if name == "priority" else pa.int64()) for name in numbers]
        + [("timestamp", TIME), ("processedOn", pa.int64()), ("finishedOn", TIME), ("ms", pa.float64())]
    )
    reader = ArrowReader(queue, schema)
    (good,), (bad,), (later,) = (rows(reader.ranks(state)) for state in ("completed", "failed", "delayed"))
    job = queue.get_job("g")
    assert good["returnvalue"] == '{"score":0.5,"tags":["a","b"]}'
    assert (good["jobId"], good["name"], good["data"], json.loads(good["opts"])["attempts"]) == (
        "g",
        "good",
        '{"n":1}',
        2,
    )
    assert (good["state"], good["processedBy"], good["priority"], good["failedReason"]) == ("completed", "w1", 3, None)
    assert [good[name] for name in ("attemptsMade", "attempts", "attemptsStarted")] == [1, 1, 1]
    assert (good["stalledCounter"], good["parentKey"]) == (None, None)
    assert round(good["timestamp"].timestamp() * 1000) == job.timestamp
    assert (round(good["finishedOn"].timestamp() * 1000), good["processedOn"]) == (job.finished_on, job.processed_on)
    assert good["ms"] == job.finished_on - job.processed_on
    assert (bad["state"], bad["error"], bad["failedReason"], bad["returnvalue"]) == (
        "failed",
        "no luck",
        "no luck",
        None,
    )
    assert (later["state"], later["delay"], later["finishedOn"], later["ms"]) == ("delayed", 3_600_000, None, None)


def test_json_becomes_nested_columns_and_what_does_not_fit_is_null(queue: Queue) -> None:
    queue.add("n", {"a": 1, "items": [{"x": "1"}, {"x": 2}]}, job_id="fits")
    queue.add("n", {"a": "one", "items": []}, job_id="partly")
    queue.add("n", [1, 2], job_id="not")
    data = pa.struct({"a": pa.int64(), "items": pa.list_(pa.struct({"x": pa.int32()}))})
    schema = pa.schema({"jobId": pa.string(), "data": data, "_corrupt": pa.string()})
    found = {row["jobId"]: (row["data"], row["_corrupt"]) for row in rows(ArrowReader(queue, schema).ranks("waiting"))}
    assert found == {
        "fits": ({"a": 1, "items": [{"x": 1}, {"x": 2}]}, None),
        "partly": ({"a": None, "items": []}, '{"a":"one","items":[]}'),
        "not": (None, "[1,2]"),
    }


def test_returned_fields_are_columns_and_a_single_one_takes_a_bare_value(queue: Queue, worker) -> None:
    queue.add_bulk([{"name": "n", "data": n, "opts": {"job_id": f"j{n}"}} for n in range(4)])
    values = [{"score": 1.5, "label": "a"}, 2.5, None, "text"]
    worker(lambda job: values[job.data]).run(until="drained")
    read = ArrowReader(queue, pa.schema({"jobId": pa.string()}), returns=pa.schema({"score": pa.float64()}))
    assert {row["jobId"]: row["score"] for row in rows(read.scores("completed"))} == {
        "j0": 1.5, "j1": 2.5, "j2": None, "j3": None,
    }  # fmt: skip
    two = pa.schema({"score": pa.int64(), "label": pa.string()})
    read = ArrowReader(queue, pa.schema({"jobId": pa.string(), "_corrupt": pa.string()}), returns=two)
    found = {row["jobId"]: (row["score"], row["label"], row["_corrupt"]) for row in rows(read.scores("completed"))}
    assert found == {
        "j0": (None, "a", '{"score":1.5,"label":"a"}'),  # 1.5 is no integer
        "j1": (None, None, "2.5"),
        "j2": (None, None, None),
        "j3": (None, None, '"text"'),
    }


def test_windows_of_times_give_every_job_once_also_among_many_of_one_millisecond(queue: Queue, redis: Redis) -> None:
    scores = {f"a{n}": 1_000 for n in range(2 * PAGE + 7)} | {f"b{n}": 1_001 + n % 3 for n in range(PAGE)}
    finish(redis, queue, scores)
    reader = ArrowReader(queue, pa.schema({"jobId": pa.string(), "finishedOn": pa.int64()}))
    assert sorted(ids_of(reader.scores("completed"))) == sorted(scores)
    windows = [(None, 999), (999, 1_000), (1_000, 1_002), (1_002, None)]
    found = [ids_of(reader.scores("completed", after, until)) for after, until in windows]
    assert sorted(itertools.chain(*found)) == sorted(scores)
    assert [len(ids) for ids in found[:2]] == [0, 2 * PAGE + 7]
    times = [row["finishedOn"] for row in rows(reader.scores("completed", 999))]
    assert times == sorted(times)


def test_jobs_that_leave_while_a_window_is_read_hide_no_other_one(queue: Queue, redis: Redis) -> None:
    scores = {f"j{n:05}": 1_000 for n in range(4 * PAGE)}
    finish(redis, queue, scores)
    order = sorted(scores)
    batches = ArrowReader(queue, pa.schema({"jobId": pa.string()})).scores("completed")
    seen = ids_of([next(batches)])
    gone = order[: PAGE - 10]  # of those that were read, so every other one moves forward
    redis.zrem(f"bull:{queue.name}:completed", *gone)
    seen += ids_of(batches)
    assert seen == order


def test_a_run_is_read_by_place_in_the_order_of_its_list(queue: Queue, redis: Redis) -> None:
    finish(redis, queue, {f"j{n}": n for n in range(PAGE + 20)})
    finish(redis, queue, {"f1": 7}, "failed")
    redis.rpush(f"bull:{queue.name}:ext:run-r1", *(f"j{n}" for n in range(PAGE + 20)), "f1", "gone")
    schema = pa.schema({"jobId": pa.string(), "state": pa.string(), "result": pa.string(), "error": pa.string()})
    reader = ArrowReader(queue, schema)
    found = rows(reader.run("r1"))
    assert [row["jobId"] for row in found] == [*(f"j{n}" for n in range(PAGE + 20)), "f1", "gone"]
    assert found[0] == {"jobId": "j0", "state": "completed", "result": "1", "error": None}
    assert found[-2] == {"jobId": "f1", "state": "failed", "result": None, "error": "no"}
    assert found[-1] == {"jobId": "gone", "state": "removed", "result": None, "error": None}
    assert reader.removed == 1
    assert ids_of(reader.run("r1", 3, 5)) == ["j3", "j4"]
    assert ids_of(reader.run("r1", PAGE - 1, PAGE + 1)) == [f"j{PAGE - 1}", f"j{PAGE}"]
    assert ids_of(reader.run("r2")) == []
    without = ArrowReader(queue, schema, skip_removed=True)
    assert ids_of(without.run("r1", PAGE + 20)) == ["f1"]
    assert without.removed == 1


def test_the_state_is_that_of_the_moment_when_the_job_is_read(queue: Queue, redis: Redis) -> None:
    """A list may name jobs that have moved on since."""
    key = f"bull:{queue.name}"
    queue.add("n", 1, job_id="waits")
    queue.add("n", 1, job_id="later", delay=3_600_000)
    finish(redis, queue, {"done": 5})
    finish(redis, queue, {"lost": 6}, "failed")
    redis.hset(f"{key}:runs", mapping={"name": "n", "timestamp": 1})
    redis.rpush(f"{key}:active", "runs")
    redis.set(f"{key}:other", "no hash")
    finish(redis, queue, {"again": 7})
    redis.hdel(f"{key}:again", "finishedOn", "returnvalue")  # retried after it was listed
    schema = pa.schema({"jobId": pa.string(), "state": pa.string()})
    reader = ArrowReader(queue, schema)
    states = {
        "waits": "waiting", "later": "delayed", "done": "completed", "lost": "failed", "runs": "active",
        "other": "unknown", "gone": "removed",
    }  # fmt: skip
    assert {row["jobId"]: row["state"] for row in rows(reader.jobs(list(states)))} == states
    assert {row["jobId"]: row["state"] for row in rows(reader.ranks("completed"))} == {
        "done": "completed",
        "again": "completed",
    }
    redis.zrem(f"{key}:completed", "again")
    redis.rpush(f"{key}:wait", "again")
    assert rows(reader.jobs(["again"])) == [{"jobId": "again", "state": "waiting"}]


def test_every_state_is_read_by_place(queue: Queue, redis: Redis) -> None:
    queue.add("n", 1, job_id="w")
    queue.add("n", 1, job_id="d", delay=3_600_000)
    queue.add("n", 1, job_id="p", priority=2)
    redis.rpush(f"bull:{queue.name}:wait", "0:123")  # the marker of older versions of BullMQ
    reader = ArrowReader(queue, pa.schema({"jobId": pa.string(), "state": pa.string()}))
    for state, job_id in (("waiting", "w"), ("delayed", "d"), ("prioritized", "p")):
        assert rows(reader.ranks(state)) == [{"jobId": job_id, "state": state}]
    assert rows(reader.ranks("active")) == []
    queue.pause()
    assert rows(reader.ranks("paused")) == [{"jobId": "w", "state": "paused"}]
    due = queue.get_job("d").timestamp + 3_600_000
    assert ids_of(reader.scores("delayed", due - 1, due)) == ["d"]
    assert ids_of(reader.scores("delayed", due)) == []


def test_ids_and_texts_that_are_no_utf8_are_read_as_node_reads_them(queue: Queue, redis_url: str) -> None:
    key = f"bull:{queue.name}:".encode() + b"\xff1"
    schema = pa.schema({"jobId": pa.string(), "name": pa.string(), "data": pa.string()})
    with Redis.from_url(redis_url) as raw:
        raw.hset(key, mapping={b"name": b"n\xff", b"timestamp": 1, b"data": b'"\xff"'})
        raw.rpush(f"bull:{queue.name}:wait", b"\xff1")
        found = rows(ArrowReader(queue, schema).ranks("waiting"))
        raw.delete(key)
    assert found == [{"jobId": "\ufffd1", "name": "n\ufffd", "data": '"\ufffd"'}]


def test_large_jobs_come_in_smaller_batches(queue: Queue) -> None:
    queue.add_bulk([{"name": "n", "data": "x" * 1_000_000} for _ in range(60)])
    batches = list(ArrowReader(queue, pa.schema({"jobId": pa.string(), "data": pa.string()})).ranks("waiting"))
    assert sum(batch.num_rows for batch in batches) == 60
    assert len(batches) > 1
    assert max(batch.nbytes for batch in batches) < 64_000_000


def test_threads_read_at_the_same_time(queue: Queue, redis: Redis) -> None:
    finish(redis, queue, {f"j{n}": n for n in range(3_000)})
    reader, found = ArrowReader(queue, pa.schema({"jobId": pa.string()})), []
    threads = [threading.Thread(target=lambda: found.append(len(ids_of(reader.scores("completed"))))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3_000] * 4


def test_a_value_that_its_type_cannot_hold_exactly_is_null_and_stays_in_corrupt(queue: Queue, redis: Redis) -> None:
    cases = [
        (pa.int64(), "9007199254740993.0", 9007199254740993),
        (pa.int64(), "9007199254740992.9", None),
        (pa.int64(), "100.0000000000000001", None),
        (pa.uint64(), str(2**64 - 1), 2**64 - 1),
        (pa.decimal128(10, 2), "2.50", Decimal("2.50")),
        (pa.decimal128(10, 2), "2.555", None),
        (pa.float64(), "1E400", None),
        (pa.float64(), "9007199254740993", 9007199254740992.0),
        (pa.float32(), "1e308", None),
        (pa.date32(), '"2024-05-01T00:00:00.000Z"', date(2024, 5, 1)),
        (pa.date32(), '"2024-05-01T12:30:00Z"', None),
    ]
    for place, (kind, text, value) in enumerate(cases):
        job_id = f"job-{place}"
        redis.hset(f"bull:{queue.name}:{job_id}", mapping={"name": "n", "timestamp": 1, "returnvalue": text})
        schema, returns = pa.schema({"result": kind, "_corrupt": pa.string()}), pa.schema({"value": kind})
        [row] = rows(ArrowReader(queue, schema, returns=returns).jobs([job_id]))
        assert row == {"result": value, "value": value, "_corrupt": text if value is None else None}, text


def test_what_cannot_be_read_is_refused_before_anything_is_sent(queue: Queue) -> None:
    for wrong in (
        {"jobid": pa.string()},
        {"name": pa.int64()},
        {"data": pa.duration("s")},
        {"ms": pa.string()},
        {"timestamp": pa.int32()},
        {"priority": pa.int8()},
    ):
        with pytest.raises(InvalidOptionError):
            ArrowReader(queue, pa.schema(wrong))
    with pytest.raises(InvalidOptionError, match="Two columns"):
        ArrowReader(queue, pa.schema({"result": pa.string()}), returns=pa.schema({"result": pa.string()}))
    with pytest.raises(TypeError, match="Arrow schema"):
        ArrowReader(queue, "jobId string")
    reader = ArrowReader(queue, pa.schema({"jobId": pa.string()}))
    for call in (
        lambda: reader.run("a b"),
        lambda: reader.run(""),
        lambda: reader.run("r", -1),
        lambda: reader.ranks("done"),
        lambda: reader.ranks("failed", 0, -1),
        lambda: reader.scores("active"),
    ):
        with pytest.raises(InvalidOptionError):
            next(call())
