"""add_bulk and add_arrow with targets: each job in its queue, results in order."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from redis import Redis

from bullrush import Queue
from bullrush.errors import DataError, InvalidOptionError, RouteCollisionError

GPU = {"capabilities": ["gpu"]}
EU = {"region": ["eu"]}


def names(redis: Redis, queue: str) -> list[str]:
    ids = redis.lrange(f"bull:{queue}:wait", 0, -1)[::-1]
    return [redis.hget(f"bull:{queue}:{id}", "name") for id in ids]


def test_each_job_goes_to_its_queue_and_the_result_keeps_the_order(queue: Queue, redis: Redis) -> None:
    targets: list[Any] = [None, GPU, EU, None, GPU, {}, {"region": ["eu", "eu"]}]
    jobs = queue.add_bulk([{"name": str(n), "data": n, "opts": {"target": t}} for n, t in enumerate(targets)])
    gpu, eu = f"{queue.name}~cap.gpu", f"{queue.name}~reg.eu"
    assert [job.name for job in jobs] == list("0123456")
    assert [job.queue_name for job in jobs] == [queue.name, gpu, eu, queue.name, gpu, queue.name, eu]
    assert [job.id for job in jobs] == ["1", "1", "1", "2", "2", "3", "2"]
    assert [job.data for job in jobs] == list(range(7))
    assert names(redis, queue.name) == ["0", "3", "5"]
    assert names(redis, gpu) == ["1", "4"]
    assert names(redis, eu) == ["2", "6"]
    assert redis.hget(f"bull:{gpu}:1", "opts") == '{"attempts":0}'


def test_jobs_of_a_generator_may_share_options(queue: Queue) -> None:
    def jobs() -> Iterator[Any]:
        opts: dict[str, Any] = {}
        for target in (None, GPU, None, EU):
            opts["target"] = target
            opts["priority"] = 7 if target else 0
            yield {"name": "a", "opts": opts}

    added = queue.add_bulk(jobs())
    assert [job.queue_name.removeprefix(queue.name) for job in added] == ["", "~cap.gpu", "", "~reg.eu"]
    assert [job.priority for job in added] == [0, 7, 0, 7]


def test_other_options_count_on_routes_too(queue: Queue, redis: Redis) -> None:
    parent = queue.add("parent")
    link = {"id": parent.id, "queue": queue.qualified_name}
    opts: Any = {"target": GPU, "job_id": "x", "delay": 60_000, "deduplication": {"id": "d"}, "parent": link}
    [job] = queue.add_bulk([{"name": "a", "opts": opts}])
    assert job.id == "x"
    assert job.get_state() == "delayed"
    assert redis.get(f"bull:{queue.name}~cap.gpu:de:d") == "x"
    assert redis.smembers(f"bull:{queue.name}:{parent.id}:dependencies") == {f"bull:{queue.name}~cap.gpu:x"}


@pytest.mark.parametrize(
    ("job", "error", "message"),
    [
        ({"name": "a", "opts": {"target": {"capability": ["gpu"]}}}, InvalidOptionError, "'capabilities'"),
        ({"name": "a", "opts": {"target": ["gpu"]}}, InvalidOptionError, "target must be a dict"),
        ({"name": "a", "opts": {"target": GPU, "attempts": -1}}, InvalidOptionError, "attempts"),
        ({"name": "a", "data": {1, 2}, "opts": {"target": GPU}}, DataError, "data"),
        ({"name": "a", "target": GPU}, InvalidOptionError, "belongs into opts"),
        ({"name": "a", "opts": ["target"]}, InvalidOptionError, "opts must be a dict"),
    ],
)
def test_one_wrong_job_adds_and_registers_nothing(
    queue: Queue, redis: Redis, job: Any, error: type[Exception], message: str
) -> None:
    jobs = [{"name": "good"}, {"name": "good", "opts": {"target": GPU}}, job]
    with pytest.raises(error, match=message):
        queue.add_bulk(jobs)
    assert list(redis.scan_iter(f"bull:{queue.name}[:~]*")) == []


def test_a_route_that_cannot_be_registered_adds_nothing(queue: Queue, redis: Redis) -> None:
    targets: list[Any] = [None, EU, {"capabilities": ["a", "b"]}]
    redis.hset(queue.to_key("ext:routes"), "cap.a+b", '{"capabilities":["a+b"]}')  # by an older version
    with pytest.raises(RouteCollisionError):
        queue.add_bulk([{"name": "a", "opts": {"target": target}} for target in targets])
    assert [key for key in redis.scan_iter(f"bull:{queue.name}[:~]*") if key.endswith(":wait")] == []


def test_many_jobs_of_many_routes_are_added_once(queue: Queue, redis: Redis) -> None:
    targets = [None, *({"capabilities": [f"c{n}"]} for n in range(9))]
    given = [{"name": str(n), "opts": {"target": targets[n % 10]}} for n in range(2_000)]
    jobs = queue.add_bulk(given)  # type: ignore[arg-type]
    assert [job.name for job in jobs] == [str(n) for n in range(2_000)]
    for at in range(10):
        name = queue.name + (f"~cap.c{at - 1}" if at else "")
        assert names(redis, name) == [str(n) for n in range(at, 2_000, 10)]
    assert redis.hlen(f"bull:{queue.name}:ext:routes") == 9


def test_all_rows_of_arrow_data_go_to_one_route(queue: Queue, redis: Redis) -> None:
    table = pa.table({"n": [1, 2, 3]})
    ids = queue.add_arrow(table, name="row", opts={"target": GPU})  # type: ignore[typeddict-item]
    assert list(ids) == ["1", "2", "3"]
    assert names(redis, f"{queue.name}~cap.gpu") == ["row"] * 3
    assert queue.get_waiting_count() == 0
