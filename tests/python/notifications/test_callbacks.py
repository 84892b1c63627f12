"""Where callbacks run: threads of their own, or the event loop; and slow ones."""

import asyncio
import os
import socket
import subprocess
import sys
import threading

import pytest
from redis import Redis

from bullrush import Notifications, aio
from bullrush.errors import ClosedError, InvalidOptionError
from tests.python.notifications.sides import Async, Calls
from tests.waiting import wait_until


def test_a_callback_that_blocks_holds_up_nobody(redis_url: str, queue_name: str) -> None:
    release, threads = threading.Event(), set()
    calls: list[str] = []

    def block() -> None:
        threads.add(threading.current_thread().name)
        release.wait(30)

    with Notifications(redis_url, queue_name) as notifications:
        for _ in range(20):
            notifications.listen("sched", "a", block)
        notifications.listen("sched", "b", lambda: calls.append("b"))
        notifications.publish("sched", "a")
        wait_until(lambda: len(threads) == 20)
        for _ in range(3):
            notifications.publish("sched", "b")
        wait_until(lambda: calls == ["b"] * 3)
        release.set()
    assert all(name.startswith("bullrush-callback") for name in threads)


def test_calls_of_one_callback_do_not_overlap_and_do_not_pile_up(redis_url: str, queue_name: str) -> None:
    release, first = threading.Event(), threading.Event()
    running, most, calls = 0, 0, 0

    def slow() -> None:
        nonlocal running, most, calls
        running += 1
        most, calls = max(most, running), calls + 1
        first.set()
        release.wait(30)
        running -= 1

    fence = threading.Event()
    with Notifications(redis_url, queue_name) as notifications:
        notifications.listen("sched", "a", slow)
        notifications.listen("sched", "fence", fence.set)
        for _ in range(300):
            notifications.publish("sched", "a")
        notifications.publish("sched", "fence")
        assert first.wait(20) and fence.wait(20)
        release.set()
        wait_until(lambda: calls == 101)
        assert most == 1


def test_callbacks_of_asyncio_run_on_the_loop_and_may_be_coroutines(redis_url: str, queue_name: str) -> None:
    thread, seen = threading.current_thread(), list[object]()

    async def program() -> None:
        done, ended, release = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            seen.append(threading.current_thread())
            await release.wait()
            seen.append("end")
            if len(seen) == 4:
                ended.set()

        async with aio.Notifications(redis_url, queue_name) as notifications:
            await notifications.listen("sched", "a", slow)
            await notifications.listen("sched", "b", done.set)
            for message in ("a", "a", "b"):
                await notifications.publish("sched", message)
            await asyncio.wait_for(done.wait(), 20)
            assert seen == [thread]
            release.set()
            await asyncio.wait_for(ended.wait(), 20)

    asyncio.run(program())
    assert seen == [thread, "end", thread, "end"]


def test_one_object_works_on_one_loop_after_the_other(redis_url: str, queue_name: str) -> None:
    notifications = aio.Notifications(redis_url, queue_name)

    async def once() -> None:
        called = asyncio.Event()
        await notifications.listen("sched", "a", called.set)
        await notifications.publish("sched", "a")
        await asyncio.wait_for(called.wait(), 20)

    asyncio.run(once())
    asyncio.run(once())


def test_a_program_that_forgets_to_close_ends(redis_url: str, queue_name: str) -> None:
    program = f"""
import threading
from bullrush import Notifications
called = threading.Event()
notifications = Notifications({redis_url!r}, {queue_name!r})
notifications.listen("sched", "a", called.set)
notifications.publish("sched", "a")
assert called.wait(20)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


def test_a_forked_child_listens_anew_and_the_parent_goes_on(redis_url: str, queue_name: str, redis: Redis) -> None:
    program = f"""
import os, threading
from bullrush import Notifications
notifications = Notifications({redis_url!r}, {queue_name!r})
calls, mine = [], threading.Event()
stop = notifications.listen("sched", "a", lambda: [calls.append(os.getpid()), mine.set()])
def check():
    called = threading.Event()
    notifications.listen("sched", "b", called.set)
    notifications.publish("sched", "b")
    assert called.wait(20)
if (child := os.fork()) == 0:
    stop()
    check()
    notifications.close()
    os._exit(0 if calls == [] else 1)
assert os.waitpid(child, 0)[1] == 0
check()
notifications.publish("sched", "a")
assert mine.wait(20)
notifications.close()
assert calls == [os.getpid()], calls
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60, env={**os.environ})


def test_a_coroutine_function_is_refused_where_nothing_would_await_it(redis_url: str, queue_name: str) -> None:
    async def callback() -> None: ...

    refused = pytest.raises(InvalidOptionError, match=r"aio\.Notifications")
    with Notifications(redis_url, queue_name) as notifications, refused:
        notifications.listen("sched", "a", callback)


def test_a_callback_that_is_cancelled_is_called_again(redis_url: str, queue_name: str) -> None:
    async def program() -> None:
        calls = asyncio.Queue[str]()

        async def cancelled() -> None:
            calls.put_nowait("call")
            raise asyncio.CancelledError

        async with aio.Notifications(redis_url, queue_name) as notifications:
            await notifications.listen("sched", "a", cancelled)
            for _ in range(2):
                await notifications.publish("sched", "a")
                await asyncio.wait_for(calls.get(), 20)

    asyncio.run(program())


def test_close_ends_the_listening_on_all_event_loops(redis_url: str, queue_name: str) -> None:
    sides = [Async(redis_url, queue_name) for _ in range(2)]
    sides[1].notifications = sides[0].notifications
    counts = [Calls(), Calls()]
    for side, calls in zip(sides, counts, strict=True):
        side.listen("sched", "a", calls)
    sides[0].publish("sched", "a")
    wait_until(lambda: [calls.count for calls in counts] == [1, 1])
    sides[1].close()
    with Notifications(redis_url, queue_name) as other:
        fence = threading.Event()
        other.listen("sched", "a", fence.set)
        other.publish("sched", "a")
        assert fence.wait(20)
    for side in sides:
        side.on_loop(asyncio.sleep(0))
        side.end()
    assert [calls.count for calls in counts] == [1, 1]


def test_listeners_of_a_loop_that_was_closed_are_forgotten(redis_url: str, queue_name: str, redis: Redis) -> None:
    notifications, loop = aio.Notifications(redis_url, queue_name), asyncio.new_event_loop()
    loop.run_until_complete(notifications.listen("sched", "a", print))
    loop.close()

    async def once() -> None:
        stop = await notifications.listen("owls", "a:1", print)
        stop()

    asyncio.run(once())
    wait_until(lambda: redis.pubsub_channels(f"{queue_name}:*") == [])
    asyncio.run(notifications.close())


def test_close_ends_a_listen_that_waits_for_redis(queue_name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        notifications = Notifications(f"redis://127.0.0.1:{silent.getsockname()[1]}", queue_name)
        failures: list[type[BaseException]] = []

        def listen() -> None:
            try:
                notifications.listen("sched", "a", print)
            except BaseException as error:
                failures.append(type(error))

        thread = threading.Thread(target=listen)
        thread.start()
        connection, _ = silent.accept()
        notifications.close()
        thread.join(20)
        connection.close()
    assert failures == [ClosedError]
