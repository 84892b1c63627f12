"""Options that a registry gives to its workers."""

from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Tasks, Worker, current_job
from bullrush.errors import InvalidOptionError
from bullrush.testing import work
from tests.waiting import wait_until

MINE: Any = {"attempts": 2, "backoff": {"type": "mine"}}


class Tracer:
    def span(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("nothing runs here")

    def metadata(self) -> str:
        return ""


def never(*_: object) -> int:
    return -1


def at_once(*_: object) -> int:
    return 0


@pytest.fixture
def failing(redis_url: str, queue_name: str) -> Tasks:
    tasks = Tasks(queue_name, url=redis_url, worker_options={"backoff_strategy": never, "concurrency": 3})

    @tasks.task(**MINE)
    def fail() -> None:
        raise ValueError("boom")

    fail.enqueue()
    return tasks


def test_the_workers_of_a_registry_have_its_options(failing: Tasks, redis_url: str) -> None:
    assert work(failing).retried == 0
    (job,) = Queue(failing.queue, url=redis_url).get_failed()
    assert job.failed_reason == "boom"
    assert Worker(failing).concurrency == 3


@pytest.mark.parametrize("own", [{"backoff_strategy": at_once}, {"settings": {"backoff_strategy": at_once}}])
def test_an_option_of_the_worker_itself_wins(failing: Tasks, own: dict[str, Any]) -> None:
    assert work(failing, **own).retried == 1
    assert Worker(failing, concurrency=1, **own).concurrency == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"limitter": {}}, "limiter"),
        ({"limiter": {"max": 0, "duration": 1}}, "max"),
        ({"url": "redis://localhost"}, "Tasks\\(url="),
        ({"batch_size": 2}, "one by one"),
        (["limiter"], "a dict"),
    ],
)
def test_wrong_options_are_refused_where_the_registry_is_made(options: Any, says: str) -> None:
    with pytest.raises(InvalidOptionError, match=says):
        Tasks("q", worker_options=options)


def test_a_registry_that_includes_others_must_have_their_options() -> None:
    limited = Tasks("q", worker_options={"limiter": {"max": 1, "duration": 1_000}})
    with pytest.raises(InvalidOptionError, match="give that one limiter, too"):
        Tasks("q").include(limited)
    Tasks("q", worker_options={"limiter": None}).include(limited)
    traced = Tasks("q", telemetry=Tracer())
    with pytest.raises(InvalidOptionError, match="give that one telemetry, too"):
        Tasks("q").include(traced)
    Tasks("q", telemetry=Tracer()).include(traced)


def test_a_task_says_how_long_its_locks_last_unless_its_worker_does(redis_url: str, queue_name: str, redis: Redis):
    tasks = Tasks(queue_name, url=redis_url)
    left: dict[str, int] = {}

    def note() -> None:
        job = current_job()
        lock: Any = f"bull:{job.queue_name}:{job.id}:lock"
        left[job.name] = wait_until(lambda: redis.pttl(lock) if redis.pttl(lock) > 2_000 else 0)

    for name, duration in {"mail": 20_000, "render": 60_000}.items():
        tasks.task(name=name, lock_duration=duration)(note).enqueue()
    with Worker(tasks, concurrency=2, lock_duration=2_000, lock_durations={"mail": 500_000}) as worker:
        assert worker.run(until="empty").completed == 2
    assert 60_000 < left["mail"] <= 500_000
    assert 20_000 < left["render"] <= 60_000
    tasks.close()
    with pytest.raises(InvalidOptionError, match="lock_duration"):
        tasks.task(name="wrong", lock_duration=0)
