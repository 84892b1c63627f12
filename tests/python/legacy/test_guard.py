"""Queues that Bull uses, or has used, are refused where no key of a job shows it."""

import asyncio
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

import bullrush.aio
from bullrush import FlowProducer, LegacyQueue, Queue, QueueEvents, Worker
from bullrush.errors import LegacyQueueError
from bullrush.tasks import Tasks
from tests.interop.conftest import server_of
from tests.waiting import wait_until

USES: dict[str, Callable[..., object]] = {
    "Queue": lambda name, **options: Queue(name, **options).add("welcome"),
    "Worker": lambda name, **options: Worker(name, lambda job: None, **options).run(max_seconds=0.1),
    "FlowProducer": lambda name, **options: FlowProducer(**options).add({"name": "welcome", "queue_name": name}),
    "QueueEvents": lambda name, **options: QueueEvents(name, **options).wait_until_ready(),
}
every_class = pytest.mark.parametrize("use", USES.values(), ids=USES)


@pytest.fixture
def bull(redis: Redis, queue_name: str) -> Iterator[None]:
    """A program with Bull that has added no job: all that it does is listen."""
    with redis.pubsub() as listener:
        listener.subscribe(channel := f"bull:{queue_name}:delayed")
        wait_until(lambda: redis.pubsub_numsub(channel)[0][1] == 1, "it listens")
        yield


@pytest.fixture
def moved(redis_url: str, queue_name: str) -> LegacyQueue:
    """A queue of Bull whose jobs have moved and whose keys are deleted."""
    old = LegacyQueue(queue_name, url=redis_url, flavor="4")
    old.add("welcome")
    with Queue(queue_name, url=redis_url, prefix="moved") as new:
        assert old.migrate(new).complete
        old.cleanup(new)
    return old


@every_class
def test_a_queue_to_which_a_program_with_bull_listens_is_refused(use, bull, redis, redis_url, queue_name):
    with pytest.raises(LegacyQueueError, match=f"a program with Bull listens to the channel bull:{queue_name}:delayed"):
        use(queue_name, url=redis_url)
    assert redis.keys(f"bull:{queue_name}:*") == []
    use(queue_name, url=redis_url, allow_legacy=True)


def test_a_queue_of_bullmq_to_which_a_program_with_bull_listens_is_used_by_both(bull, redis, redis_url, queue_name):
    redis.hset(f"bull:{queue_name}:meta", "version", "bullmq:5.62.0")
    with pytest.raises(LegacyQueueError, match="Bull and BullMQ use this queue both"):
        Queue(queue_name, url=redis_url).add("welcome")


def test_a_program_with_bull_on_another_database_uses_another_queue(bull, redis_url, queue_name):
    with Queue(queue_name, url=f"{server_of(redis_url)}/7") as queue:
        assert queue.add("welcome").id == "1"
        queue.obliterate(force=True)


def test_who_may_not_ask_who_listens_is_not_refused(bull, redis, redis_url, queue_name):
    redis.execute_command("ACL", "SETUSER", queue_name, "on", ">secret", "~*", "&*", "+@all", "-pubsub")
    with Queue(queue_name, url=redis_url.replace("redis://", f"redis://{queue_name}:secret@")) as queue:
        assert queue.add("welcome").id == "1"
    redis.execute_command("ACL", "DELUSER", queue_name)


def test_an_idle_queue_of_bull_can_be_moved_when_its_programs_show_it(bull, redis_url, queue_name):
    with LegacyQueue(queue_name, url=redis_url) as old, Queue(queue_name, url=redis_url, prefix="moved") as new:
        assert old.migrate(new).complete and old.verify(new).complete


@every_class
def test_a_queue_that_has_moved_says_where_to(use, moved, redis, redis_url, queue_name):
    with pytest.raises(LegacyQueueError, match=f'have moved to moved:{queue_name}: use prefix "moved"\\. allow_legacy'):
        use(queue_name, url=redis_url)
    assert redis.keys(f"bull:{queue_name}:*") == [f"bull:{queue_name}:ext:moved"]
    use(queue_name, url=redis_url, allow_legacy=True)


def test_a_signpost_outlives_all_but_forget(moved, redis_url, queue_name):
    with Queue(queue_name, url=redis_url, allow_legacy=True) as queue:
        queue.add("welcome")
        queue.obliterate(force=True)
    with pytest.raises(LegacyQueueError, match="have moved"):
        Queue(queue_name, url=redis_url).add("welcome")
    assert moved.forget() is True and moved.forget() is False
    with Queue(queue_name, url=redis_url) as queue:
        assert queue.add("welcome").id == "1"


def test_jobs_that_bull_adds_after_a_move_are_moved_by_the_next_run(moved, redis_url, queue_name):
    with Queue(queue_name, url=redis_url) as wrong, pytest.raises(LegacyQueueError):
        wrong.add("welcome")
    moved.add("late")
    with Queue(queue_name, url=redis_url, prefix="moved") as new:
        assert moved.migrate(new, merge=True).moved == {"waiting": 1}


def test_a_signpost_names_another_queue_and_another_server(redis_url, queue_name):
    elsewhere = f"{server_of(redis_url)}/1"
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as old, Queue(f"{queue_name}-new", url=elsewhere) as new:
        old.bridge(new, until="empty")
        place = elsewhere.removeprefix("redis://")
        with pytest.raises(LegacyQueueError, match=f'and queue name "{new.name}" on the Redis at {place}'):
            Queue(queue_name, url=redis_url).add("welcome")
        old.forget()
        new.obliterate(force=True)


def test_a_queue_that_never_was_is_not_verified(redis_url, queue_name):
    old, new = LegacyQueue(queue_name, url=redis_url), Queue(queue_name, url=redis_url, prefix="moved")
    with old, new, pytest.raises(LegacyQueueError, match="has no jobs that tell"):
        old.verify(new)


def test_forget_is_awaited_in_asyncio(moved, redis_url, queue_name):
    async def forget() -> bool:
        async with bullrush.aio.LegacyQueue(queue_name, url=redis_url) as old:
            return await old.forget()

    assert asyncio.run(forget())


def iterate(events: QueueEvents) -> object:
    return next(iter(events))


READS: dict[str, Callable[[QueueEvents], object]] = {
    "iteration": iterate,
    "run": QueueEvents.run,
    "on": lambda events: events.on("completed", print),
    "once": lambda events: events.once("completed", print),
    "wait_until_ready": QueueEvents.wait_until_ready,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("autorun", [True, False])
def test_events_of_a_queue_of_bull_are_refused_however_they_are_read(read, autorun, redis, redis_url, queue_name):
    redis.sadd(f"bull:{queue_name}:completed", "1")
    with QueueEvents(queue_name, url=redis_url, autorun=autorun) as events:
        if not autorun and read in (READS["on"], READS["once"]):
            read(events)  # it only notes the listener
            read = QueueEvents.run
        for _ in range(2):
            with pytest.raises(LegacyQueueError, match="belongs to Bull"):
                read(events)
        assert not events.is_running()
    assert redis.keys(f"bull:{queue_name}:*") == [f"bull:{queue_name}:completed"]


def test_events_of_a_queue_of_bull_are_refused_in_asyncio(redis, redis_url, queue_name):
    redis.sadd(f"bull:{queue_name}:completed", "1")

    async def read() -> None:
        async with bullrush.aio.QueueEvents(queue_name, url=redis_url, autorun=False) as events:
            for attempt in (events.run(), anext(aiter(events)), events.wait_until_ready()):
                with pytest.raises(LegacyQueueError, match="belongs to Bull"):
                    await attempt
        reported = asyncio.get_running_loop().create_future()
        async with bullrush.aio.QueueEvents(queue_name, url=redis_url) as events:
            events.on("error", reported.set_result)
            assert isinstance(await asyncio.wait_for(reported, 30), LegacyQueueError)
            assert not events.is_running()

    asyncio.run(read())


def test_a_wait_for_a_job_of_bull_by_its_events_is_refused(redis, redis_url, queue_name):
    redis.sadd(f"bull:{queue_name}:completed", "1")
    with Queue(queue_name, url=redis_url, allow_legacy=True) as queue:
        job = queue.add("welcome")  # first, since the events look at the queue at once
        events = QueueEvents(queue_name, url=redis_url)
        with events, pytest.raises(LegacyQueueError, match="both: .* is a set"):
            job.wait_until_finished(events, timeout=30_000)


def with_cron(name: str, url: str, **options: object) -> Tasks:
    tasks = Tasks(name, url=url, **options)

    @tasks.cron("0 7 * * *", tz="UTC")
    def digest() -> None: ...

    return tasks


@pytest.mark.parametrize("given", ["worker", "tasks"])
def test_a_worker_with_cron_tasks_uses_a_queue_of_bull_if_it_is_allowed_to(given, moved, redis_url, queue_name):
    allowed = {"allow_legacy": True}
    tasks = with_cron(queue_name, redis_url, worker_options=allowed if given == "tasks" else {})
    Worker(tasks, **(allowed if given == "worker" else {})).run(max_seconds=0.1)
    with Queue(queue_name, url=redis_url, allow_legacy=True) as queue:
        assert [scheduler["key"] for scheduler in queue.get_job_schedulers()] == ["digest"]


def test_a_refused_start_of_a_worker_with_cron_tasks_writes_no_key(redis, redis_url, queue_name):
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as old:
        old.add("welcome")
    before = sorted(redis.keys(f"bull:{queue_name}:*"))
    with pytest.raises(LegacyQueueError, match="belongs to Bull"):
        Worker(with_cron(queue_name, redis_url)).run(max_seconds=0.1)
    assert sorted(redis.keys(f"bull:{queue_name}:*")) == before
