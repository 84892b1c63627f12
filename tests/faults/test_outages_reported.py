"""Listeners of `error` get one error per outage, on every class, also while the object is not used."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from bullrush import Event, FlowProducer, JobScheduler, Queue, QueueEvents, QueueEventsProducer, aio
from bullrush.errors import ConnectionLostError
from tests.waiting import wait_until

from .forking import in_child
from .proxy import Proxy

KINDS: dict[str, Callable[..., Any]] = {
    "Queue": lambda module, url: module.Queue("work", url=url),
    "FlowProducer": lambda module, url: module.FlowProducer(url=url),
    "JobScheduler": lambda module, url: module.JobScheduler("work", url=url),
    "QueueEvents": lambda module, url: module.QueueEvents("work", url=url),
    "QueueEventsProducer": lambda module, url: module.QueueEventsProducer("work", url=url),
}


class Module:
    """The blocking classes, in the same form as `aio` has the asyncio ones."""

    Queue, FlowProducer, JobScheduler = Queue, FlowProducer, JobScheduler
    QueueEvents, QueueEventsProducer = QueueEvents, QueueEventsProducer


def watchers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "bullrush-errors"]


@pytest.mark.parametrize("kind", KINDS)
def test_each_outage_emits_one_error(proxy: Proxy, kind: str) -> None:
    reported: list[Exception] = []
    heard: list[Event] = []
    with KINDS[kind](Module, proxy.url) as handle, Queue("work", url=proxy.url) as queue:
        handle.on("error", reported.append)
        handle.wait_until_ready()
        if kind == "QueueEvents":
            handle.on("added", heard.append)
        for outages in (1, 2):
            queue.add("n")  # over the connection that all but QueueEvents share
            wait_until(lambda outages=outages: kind != "QueueEvents" or len(heard) == outages, "it is connected")
            proxy.refuse(True)
            before = proxy.accepted
            proxy.cut()
            wait_until(lambda outages=outages: len(reported) == outages, "the error event came")
            wait_until(lambda before=before: proxy.accepted > before + 2, "it tried again and again")
            proxy.refuse(False)
    assert len(reported) == 2
    assert all(isinstance(error, ConnectionLostError) for error in reported)
    assert proxy.url.split("/")[2] in str(reported[0])


@pytest.mark.parametrize("kind", KINDS)
def test_each_outage_emits_one_error_with_asyncio(proxy: Proxy, kind: str) -> None:
    reported: list[tuple[Exception, bool]] = []

    async def listen() -> None:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()

        async def note(error: Exception) -> None:
            reported.append((error, asyncio.get_running_loop() is loop))
            heard.set()

        async with KINDS[kind](aio, proxy.url) as handle:
            handle.on("error", note)
            await handle.wait_until_ready()
            proxy.refuse(True)
            proxy.cut()
            await asyncio.wait_for(heard.wait(), 20)

    asyncio.run(listen())
    assert [(type(error), on_loop) for error, on_loop in reported] == [(ConnectionLostError, True)]


def test_only_a_listener_of_error_costs_a_thread_and_closing_ends_it(queue: Queue) -> None:
    queue.on("waiting", lambda job: None)
    queue.add("n")
    assert watchers() == []
    queue.on("error", lambda error: None)
    queue.once("error", lambda error: None)
    assert len(watchers()) == 1
    queue.close()
    wait_until(lambda: watchers() == [], "the thread has ended")
    queue.on("error", lambda error: None)
    assert watchers() == []


def test_a_program_that_closes_nothing_ends(queue: Queue) -> None:
    program = (
        "import sys; from bullrush import Queue; q = Queue('work', url=sys.argv[1]); q.on('error', print); q.add('n')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, queue.opts["url"]], timeout=30, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_listener_added_during_an_outage_gets_the_error(proxy: Proxy) -> None:
    reported: list[Exception] = []
    proxy.refuse(True)
    with Queue("work", url=proxy.url, timeout=200) as queue:
        with pytest.raises(ConnectionLostError):
            queue.add("n")
        queue.on("error", reported.append)
        wait_until(lambda: reported, "the error event came")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_uses_the_object_and_can_listen_itself(queue: Queue) -> None:
    queue.on("error", lambda error: None)
    queue.add("n")

    def use() -> list[int]:
        before = len(watchers())
        queue.add("n")
        queue.on("error", lambda error: None)
        return [before, len(watchers())]

    assert in_child(use) == [0, 1]
    assert queue.get_waiting_count() == 2
    queue.close()
