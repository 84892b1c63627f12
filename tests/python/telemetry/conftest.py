"""A queue and workers with OpenTelemetry, and the spans that ended."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bullrush import Queue, Worker


@pytest.fixture
def spans(span_exporter: Any) -> Any:
    from .ended_spans import Spans

    span_exporter.clear()
    return Spans(span_exporter)


@pytest.fixture
def traced(spans: Any, redis_url: str, queue_name: str) -> Iterator[Queue]:
    from bullrush.otel import OpenTelemetry

    with Queue(queue_name, url=redis_url, telemetry=OpenTelemetry("app", "1.2")) as queue:
        yield queue


@pytest.fixture
def work(spans: Any, redis_url: str, queue_name: str) -> Callable[..., None]:
    from bullrush.otel import OpenTelemetry

    def run(handler: Any = None, **options: Any) -> None:
        with Worker(queue_name, handler, url=redis_url, telemetry=OpenTelemetry(), **options) as worker:
            worker.run(until="empty")

    return run
