"""Running what is queued, and assertions about it."""

import asyncio

import pytest

from bullrush import FlowProducer, Job, Queue, Tasks, aio
from bullrush.testing import assert_enqueued, awork, work


def test_work_runs_what_is_there_and_what_that_adds(bullrush_url: str) -> None:
    with Queue("mail") as queue:

        def send(job):
            if job.name == "first":
                queue.add("second")
            return job.name

        queue.add("first")
        queue.add("later", delay=60_000)
        stats = work(queue, send)
        assert (stats.completed, queue.get_delayed_count()) == (2, 1)
        assert work("mail", {"first": send, "second": send}).completed == 0


def test_tasks_are_worked_without_a_handler(bullrush_url: str) -> None:
    tasks = Tasks("math")

    @tasks.task
    def double(number: int) -> int:
        return number * 2

    job = double.enqueue(4)
    assert work(tasks).completed == 1
    assert job.result() == 8


def test_awork_runs_coroutine_functions_on_the_loop(bullrush_url: str) -> None:
    async def main() -> int:
        loop = asyncio.get_running_loop()

        async def send(job: aio.Job) -> bool:
            return asyncio.get_running_loop() is loop

        async with aio.Queue("mail") as queue:
            job = await queue.add("send")
            stats = await awork(queue, send)
            assert (await queue.get_job(job.id)).returnvalue is True
        return stats.completed

    assert asyncio.run(main()) == 1


def test_an_assertion_about_the_queue_finds_the_oldest_job_that_fits(bullrush_url: str) -> None:
    with Queue("mail") as queue:
        queue.add("send", {"to": "a", "n": 1})
        queue.add("send", {"to": "b", "n": 2}, delay=1_000)
        queue.add("send", {"to": "b", "n": 3}, priority=1)
        assert assert_enqueued(queue, "send", to="a").data["n"] == 1
        assert assert_enqueued("mail", "send", times=2, to="b").name == "send"
        assert_enqueued(queue, times=3)
        with pytest.raises(AssertionError, match=r"'receive' is not in queue 'mail', which has:\n  'send' \{'to': 'a'"):
            assert_enqueued(queue, "receive")
        with pytest.raises(AssertionError, match=r"'send' with \{'to': 'b'\} is 2 times, not once, in queue"):
            assert_enqueued(queue, "send", times=1, to="b")


def test_an_assertion_counts_jobs_that_are_still_to_start(bullrush_url: str) -> None:
    with Queue("mail") as queue, FlowProducer() as flows:
        flow = {"name": "parent", "queue_name": "mail", "children": [{"name": "child", "queue_name": "other"}]}
        flows.add(flow)
        queue.add("fails", attempts=2, backoff=60_000)
        queue.add("completes")

        def handler(job: Job) -> None:
            assert_enqueued(queue, job.name, times=0)  # it is active
            if job.name == "fails":
                raise RuntimeError("not yet")

        stats = work(queue, handler)
        assert (stats.completed, stats.retried) == (1, 1)
        assert_enqueued(queue, "completes", times=0)
        queue.pause()
        queue.add("paused")
        for name in ("parent", "fails", "paused"):
            assert_enqueued(queue, name, times=1)


def test_an_assertion_that_nothing_waits(bullrush_url: str) -> None:
    tasks = Tasks("mail")

    @tasks.task
    def send(to: str) -> None: ...

    send.enqueue("a")
    assert assert_enqueued("mail", "receive", times=0) is None
    assert assert_enqueued(tasks, "send", times=0, to="b") is None
    assert assert_enqueued(tasks, "send", times=1, to="a").name == "send"
    with pytest.raises(AssertionError, match="'send' is once, not 0 times, in queue 'mail'"):
        assert_enqueued(tasks, "send", times=0)


def test_jobs_that_add_jobs_for_ever_end_at_the_given_number(bullrush_url: str) -> None:
    tasks = Tasks("endless")

    @tasks.task
    def again() -> None:
        again.enqueue()

    again.enqueue()
    assert work(tasks, max_jobs=3).completed == 3
    assert asyncio.run(awork(tasks, max_jobs=2)).completed == 2
    assert_enqueued(tasks, "again", times=1)


#: Globals, as in a user's module: made before any test has a server, and still connected in the next test.
QUEUE = Queue("global")
TASKS = Tasks("global-tasks")


@TASKS.task
def triple(number: int) -> int:
    return number * 3


@pytest.mark.parametrize("number", [1, 2])
def test_globals_of_a_module_use_the_server_of_each_test(bullrush_url: str, number: int) -> None:
    job = triple.enqueue(number)
    QUEUE.add("n", {"number": number})
    assert_enqueued(TASKS.queue, "triple", times=1, number=number)
    assert_enqueued(QUEUE, times=1, number=number)
    assert work(TASKS).completed == 1
    assert work(QUEUE, lambda job: None).completed == 1
    assert job.result() == number * 3


def test_globals_that_were_used_before_a_test_leave_the_server_of_the_program(
    redis_url: str, queue_name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as environment:
        environment.setenv("BULLRUSH_URL", redis_url)
        queue, tasks, flows = Queue(queue_name), Tasks(queue_name), FlowProducer()
        greet = tasks.task(lambda: "hello", name="greet")
        flow = {"name": "parent", "queue_name": queue_name}
        queue.add("n"), greet.enqueue(), flows.add(flow)
        request.getfixturevalue("bullrush_url")
        queue.add("n"), greet.enqueue(), flows.add(flow)
        assert work(queue, lambda job: None).completed == 3
    with Queue(queue_name, url=redis_url) as theirs:
        assert theirs.get_waiting_count() == 3


@pytest.mark.parametrize("attempt", range(3))
def test_each_test_has_an_empty_server(bullrush_url: str, attempt: int) -> None:
    with Queue("shared") as queue:
        assert queue.count() == 0
        queue.add("n")
