"""A run over a base queue and its routes, without Spark: its results, and the jobs that it left."""

import threading
import time

import orjson
import pyarrow as pa
import pytest
from redis import Redis

from bullrush import Queue, Worker
from bullrush.spark.address import Address
from bullrush.spark.draining.driver_queries import look
from bullrush.spark.draining.held_jobs import release_jobs, still_held
from bullrush.spark.draining.run_rows import Piece, RunRows, divided
from bullrush.spark.draining.run_worker import RunWorker
from bullrush.spark.routing.unmatched import unmatched

GPU = {"capabilities": ["gpu"]}
SEED = pa.RecordBatch.from_pydict({"id": [1]})
COLUMNS = pa.schema([("jobId", pa.string()), ("queue", pa.string()), ("result", pa.string())])


@pytest.fixture
def address(queue: Queue, redis_url: str) -> Address:
    return Address(queue.name, redis_url, "bull")


@pytest.fixture
def gpu(queue: Queue) -> Queue:
    return queue.route(GPU)


def rows_of(address: Address, parts: list[list[Piece]]) -> list[dict]:
    numbers = pa.RecordBatch.from_pydict({"id": list(range(len(parts)))})
    return pa.Table.from_batches(list(RunRows(address, "r", parts, COLUMNS, None)(iter([numbers])))).to_pylist()


def test_the_results_of_all_queues_are_rows_with_their_queue(queue: Queue, gpu: Queue, address: Address) -> None:
    stop = {"until": "drained", "max_jobs": None, "max_seconds": None, "horizon": 0}
    for each, count in ((queue, 5), (gpu, 3)):
        each.add_bulk([{"name": "n", "data": n, "opts": {"job_id": f"j{n}"}} for n in range(count)])
        work = RunWorker(address.at(each.name), lambda job: job.queue_name, {}, stop, "r", beat=0.05)
        assert sum(batch.num_rows for batch in work(iter([SEED]))) == 1
    lengths, paused = look(address, "r", True)
    assert (lengths, paused) == ({queue.name: 5, gpu.name: 3}, None)
    assert look(address, "r")[0] == {queue.name: 5}
    rows = rows_of(address, divided([Piece(name, 0, count) for name, count in lengths.items()], 3))
    assert sorted((row["queue"], row["jobId"]) for row in rows) == sorted(
        [*((queue.name, f"j{n}") for n in range(5)), *((gpu.name, f"j{n}") for n in range(3))]
    )
    assert all(orjson.loads(row["result"]) == row["queue"] for row in rows)


def test_pieces_are_divided_into_parts_of_one_size() -> None:
    pieces = [Piece("a", 2, 7), Piece("b", 0, 0), Piece("c", 0, 2), Piece("d", 4, 5)]
    assert divided(pieces, 3) == [
        [Piece("a", 2, 5)],
        [Piece("a", 5, 7), Piece("c", 0, 1)],
        [Piece("c", 1, 2), Piece("d", 4, 5)],
    ]
    assert divided([], 3) == divided([Piece("a", 0, 0)], 0) == [[]]


def test_jobs_that_a_dead_worker_held_in_a_route_go_back_to_the_route(
    queue: Queue, gpu: Queue, address: Address
) -> None:
    for each in (queue, gpu):
        each.add_bulk([{"name": "n"}] * 2)
        dead = Worker(each.name, url=address.url, run="r", name="r.1", lock_duration=300)
        dead.get_next_job(f"{dead.id}:1")
    assert still_held(address, "r", True) == ["1", f"{gpu.name}:1"]
    assert still_held(address, "r") == ["1"]
    assert release_jobs(address, "r", 1, None, True) == 2
    assert (queue.get_waiting_count(), gpu.get_waiting_count()) == (2, 2)


def test_a_paused_route_is_seen(queue: Queue, gpu: Queue, address: Address) -> None:
    gpu.add("n")
    gpu.pause()
    assert look(address, "r", True)[1] == gpu.name
    assert look(address, "r")[1] is None


def test_jobs_that_no_living_profile_matches_are_counted_for_each_route(
    queue: Queue, gpu: Queue, address: Address, redis: Redis
) -> None:
    eu = queue.route({"region": ["eu"]})
    queue.add("n")
    gpu.add("n", priority=1)
    gpu.add("n", delay=1_000)
    gpu.add("n", delay=1_000_000)
    eu.add("n")
    cpu, has_gpu = orjson.dumps({"region": ["us"]}).decode(), orjson.dumps(GPU).decode()
    assert unmatched(address, 60_000, [cpu]) == {gpu.name: 2, eu.name: 1}
    assert unmatched(address, 60_000, [cpu, has_gpu]) == {eu.name: 1}
    key, now = queue.to_key("ext:workers"), time.time_ns() // 1_000_000
    redis.hset(key, "alive", orjson.dumps({"profile": {"region": ["eu"]}, "ts": now}))
    redis.hset(key, "dead", orjson.dumps({"profile": GPU, "ts": now - 31_000}))
    redis.hset(key, "strange", "{")
    assert unmatched(address, 60_000, [cpu]) == {gpu.name: 2}
    redis.hset(queue.to_key("ext:routes"), "cap.gpu", '{"capabilities":["gpu"],"floor":3}')
    assert unmatched(address, 60_000, [cpu]) == {}, "an entry of another version is nobody's"


def test_a_worker_that_lives_finishes_its_job_in_a_route(queue: Queue, gpu: Queue, address: Address) -> None:
    gate = threading.Event()
    gpu.add("n")
    with Worker(gpu.name, lambda job: gate.wait(20), url=address.url, run="r", autorun=True):
        threading.Timer(0.3, gate.set).start()
        assert release_jobs(address, "r", 1, None, True) == 0
