"""The option ``notify`` about new jobs: how many workers may wake, and the message that wakes them."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from redis import Redis

from bullrush import Notifications, Queue, Worker, aio
from bullrush.errors import InvalidOptionError, RedisServerError
from tests.waiting import wait_until
from tests.watching import commands_about

CHANNEL = "bull:ext:sched"
#: So long that only a message can wake a worker in time.
LONG = 60_000


@pytest.fixture
def telling(url: str, queue_name: str, queue: Queue) -> Iterator[Queue]:
    """The test's queue, whose user may or may not publish."""
    with Queue(queue_name, url=url, notify=True) as telling:
        yield telling


@pytest.fixture
def heard(redis: Redis) -> Iterator[Callable[[], list[str]]]:
    """Return the messages since the start of the test, up to a last one of its own."""
    with redis.pubsub(ignore_subscribe_messages=True) as listener:
        listener.subscribe(CHANNEL)
        wait_until(lambda: listener.get_message() is None and listener.subscribed)

        def messages() -> list[str]:
            redis.publish(CHANNEL, "the end")
            found: list[str] = []
            while "the end" not in found:
                message = wait_until(lambda: listener.get_message(timeout=1))
                found.append(message["data"] if isinstance(message["data"], str) else message["data"].decode())
            return found[:-1]

        yield messages


@pytest.fixture
def budget(redis: Redis, queue_name: str) -> Callable[..., str | None]:
    """Read or write how many workers may wake."""
    key = f"bull:{queue_name}:ext:hint"

    def read_or_write(*value: object) -> str | None:
        if value:
            redis.set(key, value[0])  # type: ignore[arg-type]
        found: Any = redis.get(key)
        return found.decode() if isinstance(found, bytes) else found

    return read_or_write


@pytest.fixture
def put(redis: Redis, queue: Queue) -> Callable[[], str]:
    """Put a job into the list and set no marker: nothing but a message can wake a worker."""

    def one() -> str:
        job = {"name": "n", "data": "{}", "opts": "{}", "timestamp": 1, "delay": 0, "priority": 0}
        redis.hset(queue.to_key("put"), mapping=job)  # type: ignore[arg-type]
        redis.lpush(queue.to_key("wait"), "put")
        return "put"

    return one


@pytest.fixture(scope="module")
def _subscribed(redis_url: str) -> Iterator[None]:
    """Keep the subscription of this process: each new one lets workers look for jobs."""
    with (
        Worker("subscribed", lambda job: None, url=redis_url, notify=True, autorun=True),
        Redis.from_url(redis_url) as redis,
    ):
        wait_until(lambda: redis.pubsub_numsub(CHANNEL)[0][1] > 0)
        yield


@pytest.fixture
def idle(redis_url: str, queue_name: str, queue: Queue, _subscribed: None) -> Iterator[Callable[..., Worker]]:
    """Start a worker that listens and has nothing to do."""
    with ExitStack() as stack:

        def start(handler: Any = lambda job: None, **options: Any) -> Worker:
            options = {"notify": True, "drain_delay": LONG, "skip_stalled_check": True, **options}
            worker = stack.enter_context(Worker(queue_name, handler, url=redis_url, autorun=True, **options))
            worker.wait_until_ready()
            wait_until(lambda: any(one["cmd"] == "bzpopmin" for one in queue.get_workers()))
            return worker

        yield start


def many(count: int, **opts: Any) -> list[dict[str, Any]]:
    return [{"name": "n", "opts": opts} for _ in range(count)]


def added_in_bulk(queue: Queue) -> None:
    queue.add_bulk(many(3))


def added_one_by_one(queue: Queue) -> None:
    for _ in range(3):
        queue.add("n")


def added_with_deduplication(queue: Queue) -> None:
    queue.add_bulk([{"name": "n", "opts": {"deduplication": {"id": str(number)}}} for number in range(3)])


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
@pytest.mark.parametrize("add", [added_in_bulk, added_one_by_one, added_with_deduplication])
def test_workers_learn_how_many_jobs_came(
    add: Callable[[Queue], None],
    telling: Queue,
    heard: Callable[[], list[str]],
    budget: Callable[[], str | None],
    queue_name: str,
    redis: Redis,
) -> None:
    add(telling)
    assert budget() == "3"
    assert 50_000 < redis.pttl(telling.to_key("ext:hint")) <= 60_000  # type: ignore[operator]
    assert set(heard()) == {queue_name}


def test_nobody_gets_a_message_about_jobs_that_cannot_run_yet(
    telling: Queue, heard: Callable[[], list[str]], budget: Callable[[], str | None]
) -> None:
    telling.add("n", delay=60_000)
    telling.add_bulk(many(3, delay=60_000))
    assert (heard(), budget()) == ([], None)


def test_nobody_gets_a_message_without_the_option(
    queue: Queue, heard: Callable[[], list[str]], budget: Callable[[], str | None]
) -> None:
    queue.add_bulk(many(3))
    assert (heard(), budget()) == ([], None)


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
def test_scripts_that_the_server_has_forgotten_are_loaded(
    telling: Queue, heard: Callable[[], list[str]], budget: Callable[[], str | None], redis: Redis, queue_name: str
) -> None:
    telling.add("n")
    heard()
    redis.script_flush()
    telling.add("n")
    assert budget() == "2"
    assert queue_name in heard()


def test_jobs_are_added_whatever_becomes_of_the_hint(telling: Queue, redis: Redis) -> None:
    """The key of the number is of another type; with ``lost`` no message may be published either."""
    redis.lpush(telling.to_key("ext:hint"), "theirs")
    assert telling.add("n").id == "1"
    assert [job.id for job in telling.add_bulk(many(2))] == ["2", "3"]
    assert telling.count() == 3


def test_two_producers_and_six_consumers(queue: Queue) -> None:
    queue.provide_wake_hint(2)
    assert queue.provide_wake_hint(3) == 5
    assert [queue.consume_wake_hint() for _ in range(6)] == [1, 1, 1, 1, 1, 0]
    queue.provide_wake_hint(3)
    assert queue.provide_wake_hint(3) == 6
    assert [queue.consume_wake_hint(want=4) for _ in range(3)] == [4, 2, 0]


@pytest.mark.parametrize("messages", ["delivered"], indirect=True)
def test_three_of_five_listeners_wake_for_three_jobs(telling: Queue, redis_url: str, queue: Queue) -> None:
    """Each claims as many jobs as it was granted.

    A server that does not know the script yet may get the message twice, and then nothing is granted for the other one.
    """
    granted: list[int] = []
    with ExitStack() as stack:
        for number in range(5):
            listener = stack.enter_context(Notifications(url=redis_url))
            worker = stack.enter_context(Worker(queue.name, url=redis_url))

            def wake(worker: Worker = worker, token: str = str(number)) -> None:
                got = queue.consume_wake_hint()
                claimed = [worker.get_next_job(token, block=False) for _ in range(got)]
                assert None not in claimed
                granted.append(got)

            listener.listen("sched", queue.name, wake)
        telling.add_bulk(many(3))
        wait_until(lambda: len(granted) >= 5 and sum(granted) >= 3)
    assert sorted(granted, reverse=True)[:5] == [1, 1, 1, 0, 0]
    assert queue.get_active_count() == 3


def test_the_calls_of_aio_are_the_same(queue_name: str, redis_url: str, queue: Queue) -> None:
    async def play() -> list[int]:
        async with aio.Queue(queue_name, url=redis_url) as queue:
            return [await queue.provide_wake_hint(2), *[await queue.consume_wake_hint() for _ in range(3)]]

    assert asyncio.run(play()) == [2, 1, 1, 0]


@pytest.mark.parametrize(("stored", "granted"), [("text", 1), ("-5", 0), ("9" * 30, 3), ("", 1)])
def test_a_number_that_another_program_wrote(
    queue: Queue, budget: Callable[..., str | None], stored: str, granted: int
) -> None:
    budget(stored)
    assert queue.consume_wake_hint(want=3) == granted


def test_a_key_of_another_type(queue: Queue, redis: Redis) -> None:
    redis.lpush(queue.to_key("ext:hint"), "theirs")
    assert queue.consume_wake_hint(want=3) == 1
    with pytest.raises(RedisServerError, match="WRONGTYPE"):
        queue.provide_wake_hint(1)


@pytest.mark.parametrize("number", [0, -1, 1.5, "3", None])
def test_a_number_that_is_none_is_refused(queue: Queue, number: Any) -> None:
    with pytest.raises(InvalidOptionError, match="count must be"):
        queue.provide_wake_hint(number)
    with pytest.raises(InvalidOptionError, match="want must be"):
        queue.consume_wake_hint(number)


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_another_value_of_the_option_is_refused(queue_name: str, value: Any) -> None:
    with pytest.raises(InvalidOptionError, match="notify must be True or False"):
        Queue(queue_name, notify=value)


def test_a_message_wakes_a_worker_at_once(
    queue: Queue, idle: Callable[..., Worker], put: Callable[[], str], redis: Redis, queue_name: str
) -> None:
    idle()
    put()
    queue.provide_wake_hint(1)
    redis.publish(CHANNEL, queue_name)
    wait_until(lambda: queue.get_completed_count() == 1, seconds=20)


def test_a_worker_stays_asleep_if_enough_others_are_awake(
    queue: Queue,
    idle: Callable[..., Worker],
    put: Callable[[], str],
    redis: Redis,
    queue_name: str,
    budget: Callable[..., str | None],
) -> None:
    idle()
    put()
    budget(0)
    with commands_about(f"bull:{queue_name}:", redis) as commands:
        for _ in range(2):
            before = commands().count("EVALSHA")
            redis.publish(CHANNEL, queue_name)
            wait_until(lambda before=before: commands().count("EVALSHA") > before)  # it has asked
    assert queue.get_waiting_count() == 1
    budget(1)
    redis.publish(CHANNEL, queue_name)
    wait_until(lambda: queue.get_completed_count() == 1, seconds=20)


def test_a_message_about_another_queue_wakes_nobody(
    queue: Queue, idle: Callable[..., Worker], put: Callable[[], str], redis: Redis, queue_name: str
) -> None:
    idle()
    put()
    for other in (f"{queue_name}-other", "", "x" * 10_000):
        redis.publish(CHANNEL, other)
    queue.provide_wake_hint(2)
    redis.publish(CHANNEL, queue_name)
    wait_until(lambda: queue.get_completed_count() == 1, seconds=20)
    assert queue.consume_wake_hint(want=5) == 1


def test_a_worker_asks_for_as_many_jobs_as_it_has_free_slots(
    queue: Queue,
    idle: Callable[..., Worker],
    put: Callable[[], str],
    redis: Redis,
    queue_name: str,
    budget: Callable[..., str | None],
) -> None:
    idle(concurrency=4)
    put()
    budget(10)
    redis.publish(CHANNEL, queue_name)
    wait_until(lambda: queue.get_completed_count() == 1, seconds=20)
    assert budget() == "6"


def test_a_paused_worker_takes_nothing_from_the_others(
    queue: Queue,
    idle: Callable[..., Worker],
    put: Callable[[], str],
    redis: Redis,
    queue_name: str,
    budget: Callable[..., str | None],
) -> None:
    paused = idle()
    paused.pause()
    put()
    budget(5)
    redis.publish(CHANNEL, queue_name)
    idle()  # it looks when it starts, without a message
    wait_until(lambda: queue.get_completed_count() == 1, seconds=20)
    assert budget() == "5"


def test_jobs_of_a_worker_that_died_wake_others(
    queue: Queue, redis: Redis, heard: Callable[[], list[str]], worker: Callable[..., Worker], queue_name: str
) -> None:
    """The worker that puts the jobs back tells them."""
    ids = [job.id for job in queue.add_bulk(many(3))]
    dead = worker()
    for id in ids:
        assert dead.get_next_job(id, block=False)
        redis.delete(queue.to_key(f"{id}:lock"))
    redis.sadd(queue.to_key("stalled"), *ids)
    with worker(lambda job: None, notify=True, autorun=True):
        wait_until(lambda: queue.get_completed_count() == 3)
    assert queue_name in heard()
