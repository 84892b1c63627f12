"""OpenTelemetry for queues and workers: traces that go on from producer to worker, in Python and in Node.

Needs ``pip install 'bullrush[otel]'`` and, for spans to go anywhere, an OpenTelemetry SDK that the application has set up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson
from opentelemetry import propagate, trace
from opentelemetry.context import Context

from bullrush.telemetry.protocol import SpanKind

_KINDS: Final[dict[SpanKind, trace.SpanKind]] = {
    "internal": trace.SpanKind.INTERNAL,
    "producer": trace.SpanKind.PRODUCER,
    "consumer": trace.SpanKind.CONSUMER,
}


class OpenTelemetry:
    """Telemetry for ``Queue(..., telemetry=OpenTelemetry())``, the same on workers and flow producers.

    It uses the global tracer provider and propagators. What it stores with jobs is what ``bullmq-otel`` stores: the carrier of
    the propagators as JSON.
    """

    def __init__(self, name: str = "bullrush", version: str | None = None) -> None:
        """Name the instrumentation.

        Args:
            name: of the tracer; by convention the application or library that is traced.
            version: of that.
        """
        self._name = name
        self._version = version
        self._tracer = trace.get_tracer(name, version)

    def __repr__(self) -> str:
        return f"OpenTelemetry({self._name!r}, {self._version!r})"

    def __reduce__(self) -> tuple[type[OpenTelemetry], tuple[str, str | None]]:
        # Queues travel to other processes; tracers do not.
        return OpenTelemetry, (self._name, self._version)

    @contextmanager
    def span(
        self,
        name: str,
        kind: SpanKind,
        attributes: Mapping[str, Any],
        *,
        parent: str | None = None,
        links: Sequence[str] = (),
    ) -> Iterator[_Span]:
        """Open a span; see `bullrush.telemetry.protocol.Telemetry.span`."""
        with self._tracer.start_as_current_span(
            name,
            context=None if parent is None else _context(parent),
            kind=_KINDS[kind],
            attributes=attributes,
            links=[trace.Link(context) for link in links if (context := _span_context(link)).is_valid],
        ) as span:
            yield _Span(span)

    def metadata(self) -> str:
        """Return the current context as JSON of its carrier."""
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        return orjson.dumps(carrier).decode()


class _Span:
    """A span of OpenTelemetry, as bullrush uses it."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        self._span.set_attributes(attributes)

    def add_event(self, name: str, attributes: Mapping[str, Any]) -> None:
        self._span.add_event(name, attributes)

    def record_exception(self, error: BaseException) -> None:
        self._span.record_exception(error)
        self._span.set_status(trace.Status(trace.StatusCode.ERROR, f"{type(error).__name__}: {error}"))


def _context(metadata: str) -> Context:
    """Return the context that was stored; a new one if that cannot be read: no job fails because of its telemetry."""
    try:
        carrier = orjson.loads(metadata)
    except ValueError:
        carrier = None
    if not isinstance(carrier, dict):
        return Context()
    return propagate.extract({key: value for key, value in carrier.items() if isinstance(value, str)}, Context())


def _span_context(metadata: str) -> trace.SpanContext:
    return trace.get_current_span(_context(metadata)).get_span_context()
