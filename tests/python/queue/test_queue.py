"""Adding jobs, and managing a queue."""

import logging
import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

import orjson
import pyarrow as pa
import pytest
from redis import Redis

from bullrush import Queue, Worker, errors


def test_add_stores_the_job_and_returns_it(queue: Queue, redis: Redis) -> None:
    job = queue.add(
        "render", {"videoId": 7}, priority=1, attempts=3, backoff=1000, job_id="v7", timestamp=1_700_000_000_000
    )
    assert (job.id, job.name, job.data, job.priority, job.delay) == ("v7", "render", {"videoId": 7}, 1, 0)
    assert (job.timestamp, job.attempts_made, job.progress, job.stacktrace) == (1_700_000_000_000, 0, 0, [])
    assert job.opts["backoff"] == {"type": "fixed", "delay": 1000}
    assert job.queue_qualified_name == f"bull:{queue.name}"
    held = redis.hgetall(f"bull:{queue.name}:v7")
    assert orjson.loads(held["data"]) == {"videoId": 7}
    assert orjson.loads(held["opts"]) == {
        "attempts": 3, "priority": 1, "backoff": {"type": "fixed", "delay": 1000}, "jobId": "v7",
        "timestamp": 1_700_000_000_000,
    }  # fmt: skip


def test_the_added_job_equals_the_one_that_is_read(queue: Queue) -> None:
    added = queue.add("n", {"x": (1, 2)}, delay=60_000, priority=3)
    read = queue.get_job(added.id)
    assert read is not None
    for name in ("id", "name", "data", "opts", "timestamp", "delay", "priority", "progress", "returnvalue", "token"):
        assert getattr(added, name) == getattr(read, name), name


def test_no_data_is_an_empty_object_and_none_is_null(queue: Queue, redis: Redis) -> None:
    one, two = queue.add("a"), queue.add("a", None)
    assert redis.hget(f"bull:{queue.name}:{one.id}", "data") == "{}"
    assert redis.hget(f"bull:{queue.name}:{two.id}", "data") == "null"


def test_add_bulk_keeps_the_order_and_default_options_apply(redis_url: str, queue_name: str) -> None:
    queue = Queue(queue_name, url=redis_url, default_job_options={"attempts": 4})
    jobs = queue.add_bulk([{"name": "n", "data": i, "opts": {"job_id": f"j{i}"} if i % 2 else {}} for i in range(600)])
    assert [job.data for job in jobs] == list(range(600))
    assert [job.id for job in jobs[1::2]] == [f"j{i}" for i in range(1, 600, 2)]
    assert {job.opts["attempts"] for job in jobs} == {4}
    assert queue.get_job_counts("waiting") == {"waiting": 600, "paused": 0}
    assert queue.add_bulk([]) == []


def test_the_jobs_of_a_bulk_equal_the_ones_that_are_read(queue: Queue) -> None:
    parent = queue.add("parent", delay=60_000)
    options = {"delay": 60_000, "priority": 3, "job_id": 'an "id"'}
    belonging = {"parent": {"id": parent.id, "queue": queue.qualified_name}, "deduplication": {"id": "once"}}
    for jobs in (
        [{"name": "n", "data": {"x": (1, 2)}, "opts": options}, {"name": "ñ"}],
        [{"name": "n", "opts": belonging}],
    ):
        for added in queue.add_bulk(jobs):
            read = queue.get_job(added.id)
            assert read is not None
            assert added.to_json() == read.to_json()


def test_a_generator_may_yield_the_same_dict_again(queue: Queue) -> None:
    def jobs() -> Iterator[dict]:
        job = {"name": "n", "data": None, "opts": {"priority": 0}}
        for number in range(3):
            job["data"] = job["opts"]["priority"] = number
            yield job

    added = queue.add_bulk(jobs())
    assert [(job.data, job.priority) for job in added] == [(0, 0), (1, 1), (2, 2)]
    assert [queue.get_job(job.id).priority for job in added] == [0, 1, 2]


def test_other_mappings_and_data_with_the_word_null_are_added_as_they_are(queue: Queue) -> None:
    (job,) = queue.add_bulk([MappingProxyType({"name": "n", "data": {"null": "null", "nothing": None}})])
    assert queue.get_job(job.id).data == {"null": "null", "nothing": None}


def test_threads_that_add_at_once_get_the_ids_of_their_own_jobs(queue: Queue) -> None:
    with ThreadPoolExecutor(20) as threads:
        added = list(threads.map(lambda number: (number, queue.add("n", number).id), range(500)))
    assert sorted(int(job_id) for _, job_id in added) == list(range(1, 501))
    assert all(queue.get_job(job_id).data == number for number, job_id in added)


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"name": "n", "data": {"a": {1}}}, errors.DataError),
        ({"name": "n", "opts": {"priority": 1.5}}, errors.InvalidOptionError),
        ({"name": "n", "data": "x" * 100, "opts": {"size_limit": 10}}, errors.InvalidOptionError),
        ({"name": "n", "data": [float("nan")]}, errors.DataError),
        ({"data": 1}, errors.InvalidOptionError),
        ({"name": "n", "options": {}}, TypeError),
        ({"name": "n", "opts": 5}, errors.InvalidOptionError),
        (("n", {}), errors.InvalidOptionError),
    ],
)
def test_one_bad_job_of_a_bulk_adds_no_job_at_all(queue: Queue, redis: Redis, bad: dict, error: type) -> None:
    with pytest.raises(error):
        queue.add_bulk([{"name": "good"}, bad])
    assert list(redis.scan_iter(f"bull:{queue.name}:*")) == []


def test_a_job_that_is_too_large_is_refused_with_bullmqs_text(queue: Queue) -> None:
    with pytest.raises(errors.InvalidOptionError, match="^The size of job big exceeds the limit 10 bytes$"):
        queue.add("big", "0123456789", size_limit=10)


def test_a_duplicate_id_adds_nothing_and_returns_the_job(queue: Queue) -> None:
    queue.add("n", 1, job_id="same")
    assert queue.add("n", 2, job_id="same").id == "same"
    job = queue.get_job("same")
    assert job is not None
    assert job.data == 1
    assert queue.get_waiting_count() == 1


def test_arrow_rows_become_jobs(queue: Queue) -> None:
    table = pa.table({"flight": ["a", "b"], "miles": [1, 2]})
    ids = queue.add_arrow(table, "fly", job_id="flight", opts={"attempts": 2})
    assert (ids, ids.duplicates) == (["a", "b"], [])
    job = queue.get_job("b")
    assert job is not None
    assert (job.name, job.data, job.opts["attempts"]) == ("fly", {"flight": "b", "miles": 2}, 2)
    assert queue.add_arrow(table, "fly", job_id="flight").duplicates == [0, 1]


def test_arrow_ids_of_a_scope_do_not_depend_on_row_order(queue: Queue) -> None:
    first = queue.add_arrow(pa.table({"x": [1, 2, 2]}), "n", id_scope="day1")
    again = queue.add_arrow(pa.table({"x": [2, 1, 2]}), "n", id_scope="day1")
    assert sorted(first) == sorted(again)
    assert list(again.duplicates) == [0, 1, 2]
    with pytest.raises(errors.InvalidOptionError, match="either name or name_column"):
        queue.add_arrow(pa.table({"x": [1]}))


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "Queue name must be provided"), (None, "Queue name must be provided"), ("a:b", "Queue name cannot contain :"),
     ("a\nb", "Queue name cannot contain control characters")],
)  # fmt: skip
def test_a_bad_queue_name_is_refused(name: str, message: str) -> None:
    for kind in (Queue, lambda name: Worker(name, print)):
        with pytest.raises(errors.QueueNameError, match=message):
            kind(name)


def test_an_unknown_queue_option_is_a_type_error_that_helps() -> None:
    with pytest.raises(TypeError, match="use 'default_job_options'"):
        Queue("q", defaultJobOptions={})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Did you mean 'attempts'"):
        Queue("q", default_job_options={"attempt": 1})  # type: ignore[typeddict-unknown-key]


def test_pause_resume_drain_and_obliterate(queue: Queue, redis: Redis) -> None:
    queue.add_bulk([{"name": "n"}, {"name": "n", "opts": {"priority": 1}}, {"name": "n", "opts": {"delay": 60_000}}])
    queue.pause()
    assert queue.is_paused()
    queue.resume()
    assert not queue.is_paused()
    queue.drain()
    assert queue.get_job_count_by_types("waiting", "prioritized") == 0
    assert queue.get_delayed_count() == 1
    queue.drain(delayed=True)
    assert queue.count() == 0
    queue.add("n")
    queue.obliterate()
    assert list(redis.scan_iter(f"bull:{queue.name}:*")) in ([], [f"bull:{queue.name}:marker"])


def test_promote_jobs_and_remove(queue: Queue) -> None:
    delayed = queue.add("n", delay=60_000)
    queue.promote_jobs()
    assert queue.get_job_state(delayed.id) == "waiting"
    assert queue.remove(delayed.id) == 1
    assert queue.get_job(delayed.id) is None
    assert queue.get_job_state(delayed.id) == "unknown"


def test_promote_many_moves_the_delayed_jobs_with_these_ids(queue: Queue, redis: Redis) -> None:
    ids = [job.id for job in queue.add_bulk([{"name": "n", "opts": {"delay": 60_000}} for _ in range(600)])]
    waiting = queue.add("n").id
    assert queue.promote_many(["none"]) == []  # loads the script
    redis.config_resetstat()
    assert queue.promote_many([*ids[:550], waiting, "none", ids[0]]) == ids[:550]
    calls: Any = redis.info("commandstats")
    assert calls["cmdstat_evalsha"]["calls"] == 3
    assert (queue.get_waiting_count(), queue.get_delayed_count()) == (551, 50)
    assert queue.promote_many(iter(ids)) == ids[550:]
    assert queue.promote_many([]) == []
    for wrong in ([7], "7"):
        with pytest.raises(errors.InvalidOptionError, match="job_id"):
            queue.promote_many(wrong)  # type: ignore[arg-type]


def test_promote_due_moves_the_oldest_jobs_whose_time_has_come(queue: Queue) -> None:
    past = int(time.time() * 1000) - 60_000
    queue.add_bulk([{"name": "n", "data": n, "opts": {"timestamp": past + n, "delay": 1}} for n in range(1200)])
    queue.add("n", delay=60_000)
    assert queue.promote_due() == 100
    assert [job.data for job in queue.get_waiting(0, 1)] == [0, 1]
    assert queue.promote_due(limit=5000) == 1100
    assert queue.promote_due() == 0
    assert (queue.get_waiting_count(), queue.get_delayed_count()) == (1200, 1)
    with pytest.raises(errors.InvalidOptionError, match="limit"):
        queue.promote_due(0)


def test_retry_jobs_moves_all_failed_jobs_back_to_wait(queue: Queue, worker: Callable[..., Worker]) -> None:
    queue.add_bulk([{"name": "n", "data": i} for i in range(5)])
    worker(lambda job: 1 / 0).run(until="drained")
    assert queue.get_failed_count() == 5
    queue.retry_jobs(state="failed")
    assert (queue.get_failed_count(), queue.get_waiting_count()) == (0, 5)


def test_global_limits_are_set_read_and_removed(queue: Queue) -> None:
    assert (queue.get_global_concurrency(), queue.get_global_rate_limit(), queue.is_maxed()) == (None, None, False)
    assert (queue.set_global_concurrency(2), queue.set_global_concurrency(3)) == (1, 0)
    assert (queue.set_global_rate_limit(5, 1000), queue.set_global_rate_limit(10, 1000)) == (2, 0)
    assert queue.get_global_concurrency() == 3
    assert queue.get_global_rate_limit() == {"max": 10, "duration": 1000}
    assert (queue.remove_global_concurrency(), queue.remove_global_concurrency()) == (1, 0)
    assert (queue.remove_global_rate_limit(), queue.remove_global_rate_limit()) == (2, 0)
    assert (queue.get_global_concurrency(), queue.get_global_rate_limit()) == (None, None)


def test_a_queue_can_keep_almost_no_events(redis_url: str, queue_name: str, redis: Redis) -> None:
    with Queue(queue_name, url=redis_url, streams={"events": {"max_len": 0}}) as queue:
        for _ in range(200):
            queue.add("n")
        assert queue.get_meta()["opts.maxLenEvents"] == "0"
        assert redis.xlen(queue.to_key("events")) < 200


def test_the_settings_in_redis_are_those_of_bullmq(queue: Queue) -> None:
    queue.wait_until_ready()
    queue.wait_until_ready()
    assert queue.get_version() == "bullmq:5.62.0"
    assert queue.get_meta()["opts.maxLenEvents"] == "10000"


def test_the_version_of_the_program_that_made_a_queue_stays(queue: Queue, redis: Redis) -> None:
    redis.hset(queue.to_key("meta"), mapping={"version": "bullmq:6.7.0", "opts.maxLenEvents": "500"})
    queue.add("n")
    assert queue.get_version() == "bullmq:6.7.0"
    assert queue.get_meta()["opts.maxLenEvents"] == "10000"


def test_a_queue_pickles_as_its_configuration(redis_url: str, queue_name: str) -> None:
    queue = Queue(queue_name, url=redis_url, prefix="other", default_job_options={"attempts": 3}, timeout=None)
    queue.add("n")
    copy = pickle.loads(pickle.dumps(queue))
    assert (copy.name, copy.prefix, copy.get_waiting_count()) == (queue_name, "other", 1)
    assert copy.add("n").opts["attempts"] == 3


def test_repr_hides_the_password() -> None:
    assert repr(Queue("q", url="redis://me:secret@host:1/0")) == "<Queue 'q' at redis://me:***@host:1/0>"
    assert "secret" not in repr(Queue("q", url="redis://:secret@host"))


def test_the_url_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://second")
    assert "redis://second" in repr(Queue("q"))
    monkeypatch.setenv("BULLRUSH_URL", "redis://first")
    assert "redis://first" in repr(Queue("q"))


def test_the_environment_is_read_at_the_first_call(
    monkeypatch: pytest.MonkeyPatch, redis_url: str, queue_name: str
) -> None:
    monkeypatch.setenv("BULLRUSH_URL", "redis://elsewhere.invalid")
    queue = Queue(queue_name)
    monkeypatch.setenv("BULLRUSH_URL", redis_url)
    queue.add("n")
    monkeypatch.setenv("BULLRUSH_URL", "redis://elsewhere.invalid")
    assert queue.count() == 1
    assert pickle.loads(pickle.dumps(queue)).count() == 1


def test_a_closed_queue_raises_closed_error(queue: Queue) -> None:
    queue.close()
    with pytest.raises(errors.ClosedError):
        queue.add("n")


def test_without_redis_a_call_raises_after_its_deadline_and_the_error_has_no_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = Queue("q", url="redis://:secret@127.0.0.1:1/0", timeout=200)
    with caplog.at_level(logging.DEBUG), pytest.raises(errors.ConnectionLostError, match="127.0.0.1:1") as lost:
        queue.add("n")
    assert "secret" not in str(lost.value) + caplog.text
