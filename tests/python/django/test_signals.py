"""Django's three signals tell what happened to a task."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from bullrush.django import BullrushBackend
from bullrush.django.framework import task_enqueued, task_finished, task_started

SIGNALS = {"enqueued": task_enqueued, "started": task_started, "finished": task_finished}


@pytest.fixture
def seen() -> Iterator[list[tuple[str, Any]]]:
    """Return what the signals said: the signal, the status and the number of attempts."""
    found: list[Any] = []
    receivers = []
    for name, signal in SIGNALS.items():

        def receive(sender: object, task_result: Any, name: str = name, **_: object) -> None:
            assert sender is BullrushBackend
            found.append((name, task_result.status, task_result.attempts))

        signal.connect(receive)
        receivers.append((signal, receive))
    yield found
    for signal, receive in receivers:
        signal.disconnect(receive)


def test_signals_follow_a_task(shop, work, seen):
    shop.welcome.enqueue(7)
    work()
    assert seen == [("enqueued", "READY", 0), ("started", "RUNNING", 1), ("finished", "SUCCESSFUL", 1)]


def test_an_awaited_call_sends_its_signal(shop, seen):
    asyncio.run(shop.deliver.aenqueue("ann"))
    assert seen == [("enqueued", "READY", 0)]


def test_a_task_that_is_retried_has_not_finished(shop, configure, work, seen):
    configure(default_job_options={"attempts": 2})
    shop.recovers.enqueue()
    work()
    assert seen[1:] == [("started", "RUNNING", 1), ("started", "RUNNING", 2), ("finished", "SUCCESSFUL", 2)]


def test_a_task_that_failed_for_good_has_finished(shop, work, seen):
    shop.broken.enqueue()
    work()
    assert seen[1:] == [("started", "RUNNING", 1), ("finished", "FAILED", 1)]
