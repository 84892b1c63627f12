"""`payload_limit`: what we write has a limit; what others have written is reported, or refused."""

import asyncio
import logging

import orjson
import pyarrow
import pytest

from bullrush import FlowProducer, Queue, Tasks, Worker, aio, errors

BIG = "x" * 10_000_001
LIMITED = {"payload_limit": 100}


@pytest.mark.parametrize(
    "add",
    [
        lambda queue, url: queue.add("n", "x" * 99),
        lambda queue, url: queue.add_bulk([{"name": "n", "data": "x" * 99}] * 2),
        lambda queue, url: queue.add_arrow(pyarrow.table({"text": ["short", "x" * 99]}), name="n"),
        lambda queue, url: queue.upsert_job_scheduler("s", {"every": 1000}, {"data": "x" * 99}),
        lambda queue, url: queue.add("n", "x" * 99, target={"capabilities": ["gpu"]}),
        lambda queue, url: FlowProducer(url=url, **LIMITED).add(
            {"name": "n", "queue_name": "work", "children": [{"name": "n", "queue_name": "work", "data": "x" * 99}]}
        ),
        lambda queue, url: asyncio.run(aio.Queue("work", url=url, **LIMITED).add("n", "x" * 99)),
    ],
    ids=["add", "add_bulk", "add_arrow", "scheduler", "route", "flow", "aio"],
)
def test_longer_data_are_refused_with_nothing_written(add, server, own_redis):
    queue = Queue("work", url=server.url, **LIMITED)
    with pytest.raises(errors.TooLargeError, match="exceeds the limit 100 bytes"):
        add(queue, server.url)
    assert own_redis.keys() == []
    queue.add("n", "x" * 98)  # with the quotes it has 100 bytes


def test_the_limit_is_10_mb_unless_a_job_or_a_queue_has_its_own(server, queue):
    with pytest.raises(errors.TooLargeError, match="10000000"):
        queue.add("n", BIG)
    with pytest.raises(errors.TooLargeError, match="10000000"):
        queue.add_bulk([{"name": "n"}, {"name": "n", "data": BIG}])
    assert queue.count() == 0
    queue.add("n", BIG, size_limit=20_000_000)
    Queue(queue.name, url=server.url, payload_limit=None).add("n", BIG)
    assert queue.count() == 2


def test_data_are_not_replaced_by_longer_ones(server, queue):
    job = Queue(queue.name, url=server.url, **LIMITED).add("n", 1)
    with pytest.raises(errors.TooLargeError):
        job.update_data("x" * 99)
    assert queue.get_job(job.id).data == 1


def test_progress_and_rows_of_the_log_have_the_same_limit(server, queue):
    job = Queue(queue.name, url=server.url, **LIMITED).add("n")
    job.update_progress({"at": 1}, "x" * 100)
    for call, what in (
        (lambda: job.update_progress("x" * 99), "progress"),
        (lambda: job.update_progress(5, "x" * 101), "log line"),
        (lambda: job.log("x" * 101), "log line"),
    ):
        with pytest.raises(errors.TooLargeError, match=f"the {what} of job 1 has 101 bytes"):
            call()
    assert queue.get_job(job.id).progress == {"at": 1}
    assert queue.get_job_logs(job.id)["logs"] == ["x" * 100]


def test_a_handler_cannot_log_more_than_the_limit_of_its_worker(server, queue):
    queue.add("n")
    stats = Worker(queue.name, lambda job: job.log("x" * 101), url=server.url, **LIMITED).run(until="drained")
    assert stats.failed == 1
    assert "the log line of job 1 has 101 bytes" in queue.get_job("1").failed_reason


def test_a_job_is_not_completed_by_hand_with_a_longer_result(server, queue):
    queue.add("n")
    with Worker(queue.name, None, url=server.url, **LIMITED) as worker:
        job = worker.get_next_job("token")
        with pytest.raises(errors.TooLargeError, match="the result has 101 bytes"):
            job.move_to_completed("x" * 99, "token", fetch_next=False)
        assert job.get_state() == "active"
        job.move_to_completed("x" * 98, "token", fetch_next=False)
    assert job.get_state() == "completed"


def return_100_bytes(_job) -> str:
    return "x" * 98


async def return_100_bytes_later(_job) -> str:
    return "x" * 98


@pytest.mark.parametrize("handler", [return_100_bytes, return_100_bytes_later])
def test_a_job_with_a_longer_result_fails_and_does_not_run_again(handler, server, queue):
    queue.add("n", attempts=3)
    failures = []
    worker = Worker(queue.name, handler, url=server.url, payload_limit=99)
    worker.on("failed", lambda job, error: failures.append(error))
    assert worker.run(until="drained").failed == 1
    job = queue.get_job("1")
    assert job.failed_reason.startswith("the result has 100 bytes, more than the payload_limit of the worker, 99")
    assert job.attempts_made == 1
    assert isinstance(failures[0], errors.TooLargeError)


def test_a_worker_tells_once_of_larger_jobs_and_runs_them(server, queue, own_redis, caplog):
    free = Queue(queue.name, url=server.url, payload_limit=None)
    free.add_bulk([{"name": "n", "data": BIG}] * 2)
    sizes = []
    with caplog.at_level(logging.WARNING):
        Worker(queue.name, lambda job: sizes.append(len(job.data)), url=server.url).run(until="drained")
    assert sizes == [10_000_001] * 2
    assert caplog.text.count("the data of the job has 10000003 bytes") == 1
    assert "xxx" not in caplog.text


def test_a_worker_with_a_limit_of_its_own_lets_larger_jobs_fail(server, queue):
    queue.add("n", "x" * 99)
    queue.add("n", "x" * 98)
    ran = []
    stats = Worker(queue.name, lambda job: ran.append(job.id), url=server.url, **LIMITED).run(until="drained")
    assert (stats.completed, stats.failed, ran) == (1, 1, ["2"])
    assert queue.get_job("1").failed_reason.startswith("the data of the job has 101 bytes")


def test_a_worker_without_a_limit_takes_and_returns_what_comes(server, queue):
    Queue(queue.name, url=server.url, payload_limit=None).add("n", BIG)
    worker = Worker(queue.name, lambda job: job.data, url=server.url, payload_limit=None)
    assert worker.run(until="drained").completed == 1
    assert len(queue.get_job("1").returnvalue) == len(BIG)


def test_options_of_stored_jobs_do_not_have_the_limit(queue, own_redis):
    queue.add("n")
    assert "sizeLimit" not in orjson.loads(own_redis.hget("bull:work:1", "opts"))


def test_tasks_have_the_limit_too(server, own_redis):
    tasks = Tasks("work", url=server.url, **LIMITED)

    @tasks.task
    def print_text(text: str) -> None: ...

    with pytest.raises(errors.TooLargeError, match="exceeds the limit 100 bytes"):
        print_text.enqueue("x" * 99)
    assert own_redis.keys() == []
    with pytest.raises(errors.InvalidOptionError, match="payload_limit"):
        Tasks("work", payload_limit=0)
