"""The example of Sentry: one event per job that has failed for good, with its tags and without its data."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bullrush import Queue

sentry_sdk = pytest.importorskip("sentry_sdk", reason="sentry-sdk is not installed: pip install --group test")
EXAMPLE = Path(__file__).parents[3] / "examples/sentry_worker.py"


@pytest.fixture
def events() -> Iterator[list[dict[str, Any]]]:
    """Return what Sentry would send."""
    sent: list[dict[str, Any]] = []

    class Transport(sentry_sdk.transport.Transport):  # type: ignore[misc, name-defined]
        def capture_envelope(self, envelope: Any) -> None:
            sent.extend(item.payload.json for item in envelope.items if item.headers["type"] == "event")

    from sentry_sdk import transport

    made = transport.make_transport
    sentry_sdk.client.make_transport = lambda options: Transport(options)
    yield sent
    sentry_sdk.client.make_transport = made
    sentry_sdk.init()


@pytest.fixture
def example(
    monkeypatch: pytest.MonkeyPatch, events: list[dict[str, Any]], queue_name: str, redis_url: str
) -> ModuleType:
    for name, value in {
        "QUEUE": queue_name,
        "BULLRUSH_URL": redis_url,
        "SENTRY_DSN": "https://k@sentry.invalid/1",
    }.items():
        monkeypatch.setenv(name, value)
    spec = importlib.util.spec_from_file_location("sentry_worker", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "sentry_worker", module)
    spec.loader.exec_module(module)
    return module


def test_a_job_that_failed_for_good_is_one_event_without_its_data(
    example: ModuleType, events: list[dict[str, Any]], queue: Queue
) -> None:
    job = queue.add("charge", {"card": "4111-planted"}, attempts=3)
    example.worker.run(until="drained")
    sentry_sdk.flush()
    assert queue.get_failed_count() == 1
    assert len(events) == 1
    (event,) = events
    assert event["tags"] == {"job.id": job.id, "job.name": "charge", "job.queue": queue.name}
    assert event["exception"]["values"][-1]["value"] == f"the bank does not answer about {job.id}"
    frames = event["exception"]["values"][-1]["stacktrace"]["frames"]
    assert frames[-1]["function"] == "charge"
    assert "4111-planted" not in str(event)
