"""The spans that ended in a test, and the telemetry fields of jobs."""

from typing import Any

import orjson
import pytest

from bullrush import Queue

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed: pip install --group test")

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

ELSEWHERE = '{"traceparent":"00-551eb70a14c5b2d92aa832d62924bc2e-fd3a09b42d3007ae-01"}'
user = trace.get_tracer("user")


class Spans:
    """The spans that ended in a test."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    def all(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.all() if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span


def origin(span: ReadableSpan) -> str:
    """Return the trace context that a job of this span has."""
    assert span.context is not None
    carrier = orjson.loads(ELSEWHERE)["traceparent"].split("-")
    return f"{carrier[0]}-{span.context.trace_id:032x}-{span.context.span_id:016x}"


def stored(queue: Queue, redis: Any, job_id: str) -> dict[str, Any]:
    opts: dict[str, Any] = orjson.loads(redis.hget(queue.to_key(job_id), "opts"))
    return opts
