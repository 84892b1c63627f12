"""Workers with a profile: what they tell others, and what they read of the registry."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Routing, Worker
from bullrush.errors import InvalidOptionError
from tests.waiting import wait_until

GPU = {"capabilities": ["gpu", "cuda:12"], "server": "exec-17"}


@contextmanager
def running(worker: Worker) -> Iterator[None]:
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    yield
    worker.close()
    thread.join(10)
    assert not thread.is_alive()


def test_the_profile_of_a_running_worker_is_known_to_others(
    redis: Redis, queue_name: str, worker: Callable[..., Worker]
) -> None:
    key = f"bull:{queue_name}:ext:workers"
    redis.hset(key, mapping={"dead": '{"profile":{},"ts":1}', "strange": "[]", "live": f'{{"ts":{2**52}}}'})
    one = worker(lambda job: None, profile=GPU)
    assert one.profile == {"capabilities": ["cuda:12", "gpu"], "server": "exec-17"}
    assert worker(lambda job: None).profile is None
    with running(one):
        wait_until(lambda: redis.hlen(key) == 2)
        assert redis.hexists(key, "live")
        [entry] = [json.loads(value) for field, value in redis.hgetall(key).items() if field != "live"]
        seconds, _ = redis.time()
        assert entry["profile"] == {"capabilities": ["cuda:12", "gpu"], "server": "exec-17"}
        assert abs(entry["ts"] - seconds * 1000) < 60_000
    assert redis.hkeys(key) == ["live"]


def test_the_options_about_routes_can_stand_together(queue: Queue, worker: Callable[..., Worker]) -> None:
    queue.add("base")
    queue.add("routed", target={"capabilities": ["gpu"]})
    together = worker(lambda job: None, routing=Routing(profile=GPU, routes_only=True))
    assert together.profile == {"capabilities": ["cuda:12", "gpu"], "server": "exec-17"}
    assert together.run(until="empty").completed == 1
    assert queue.get_waiting_count() == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"routing": {"stric": True}}, "Routing has no option 'stric'. Did you mean 'strict'"),
        ({"routing": {"profile": GPU}, "profile": GPU}, "profile: give it in routing=, or beside it, not both"),
        ({"routing": "gpu"}, "routing must be Routing\\(...\\) or a dict, not 'gpu'"),
        ({"routing": Routing(profile=GPU, scan_depth=0)}, "scan_depth must be greater than 0"),
        ({"routing": {"routes_only": True}}, "routes_only=True needs a profile"),
    ],
)
def test_options_about_routes_that_cannot_be_used_are_refused(options: Any, text: str) -> None:
    with pytest.raises(InvalidOptionError, match=text):
        Worker("q", print, **options)


def test_a_worker_without_a_profile_reads_and_writes_nothing_about_routes(
    redis: Redis, queue: Queue, worker: Callable[..., Worker]
) -> None:
    queue.add("a")
    worker(lambda job: None).run(until="drained")
    assert [key for key in redis.scan_iter(f"bull:{queue.name}:ext:*") if "cronwd" not in key] == []


def test_an_entry_of_another_version_is_skipped_and_reported_once(
    redis: Redis, queue: Queue, worker: Callable[..., Worker]
) -> None:
    routes = {"cap.gpu": '{"capabilities":["gpu"],"zone":"b"}', "reg.eu": "{", "cap.x": '{"capabilities":["x"]}'}
    redis.hset(f"bull:{queue.name}:ext:routes", mapping=routes)
    redis.set(f"bull:{queue.name}:ext:rver", 1)
    errors: list[str] = []
    one = worker(lambda job: None, profile=GPU)
    one.on("error", lambda error: errors.append(str(error)))
    with running(one):
        wait_until(lambda: len(errors) == 2)
        redis.incr(f"bull:{queue.name}:ext:rver")
        redis.hset(f"bull:{queue.name}:ext:routes", "reg.us", "7")
        wait_until(lambda: len(errors) > 2)
        queue.add("a")
        wait_until(lambda: queue.get_job_counts("completed") == {"completed": 1})
    skipped = sorted(error for error in errors if "skips route" in error)
    assert len(skipped) == len(errors) == 3
    assert "skips route cap.gpu of queue" in skipped[0]
    assert 'it has an unknown field "zone"' in skipped[0]


def test_a_registry_of_another_type_does_not_stop_a_worker(
    redis: Redis, queue: Queue, worker: Callable[..., Worker]
) -> None:
    redis.rpush(f"bull:{queue.name}:ext:rver", "text")
    errors: list[str] = []
    one = worker(lambda job: None, profile=GPU)
    one.on("error", lambda error: errors.append(str(error)))
    queue.add("a")
    assert one.run(until="drained").completed == 1
    assert errors[0].startswith("could not look for routes: WRONGTYPE")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": {"capability": ["gpu"]}}, "Did you mean 'capabilities'"),
        ({"profile": {"capabilities": ["gpu:*"]}}, "only the capabilities of a target"),
        ({"profile": "gpu"}, "profile must be a dict"),
        ({"routes_only": True}, "routes_only=True needs a profile"),
        ({"routes_only": True, "profile": {}}, "routes_only=True needs a profile"),
        ({"routes_only": 1, "profile": GPU}, "routes_only must be True or False"),
        ({"profiles": GPU}, "Did you mean 'profile'"),
    ],
)
def test_wrong_options_are_refused(queue_name: str, options: Any, message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        Worker(queue_name, lambda job: None, **options)


def test_a_worker_for_routes_only_takes_no_job_of_the_queue_by_hand(
    queue: Queue, worker: Callable[..., Worker]
) -> None:
    queue.add("a")
    with pytest.raises(RuntimeError, match="routes_only=True"):
        worker(profile=GPU, routes_only=True).get_next_job("token")
    assert worker(profile=GPU).get_next_job("token") is not None


def test_a_worker_of_a_route_has_no_profile(queue_name: str) -> None:
    route = f"{queue_name}~cap.gpu"
    with pytest.raises(InvalidOptionError, match=rf"give the base: Worker\('{queue_name}', \.\.\., profile=\.\.\.\)"):
        Worker(route, lambda job: None, profile=GPU)
    assert Worker(route, lambda job: None).name == route


def test_options_for_routes_without_a_profile_are_reported(
    worker: Callable[..., Worker], caplog: pytest.LogCaptureFixture
) -> None:
    worker(lambda job: None, strict=True, share_rate_limit=True).run(until="empty")
    worker(lambda job: None, strict=True, share_rate_limit=True, profile=GPU).run(until="empty")
    reported = [text for text in caplog.messages if "has no effect" in text]
    assert [text.split("=")[0] for text in reported] == ["strict", "share_rate_limit"]


def test_a_scan_depth_without_a_scan_is_reported(
    worker: Callable[..., Worker], caplog: pytest.LogCaptureFixture
) -> None:
    worker(lambda job: None, scan_depth=50, profile=GPU).run(until="empty")
    worker(lambda job: None, scan_depth=50, profile=GPU, claim="scan").run(until="empty")
    reported = [text for text in caplog.messages if "has no effect" in text]
    assert [text.split(":")[0] for text in reported] == ["scan_depth=50 has no effect"]
