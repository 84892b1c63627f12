"""OpenTelemetry for queues and workers: traces continue from producer to worker, in Python and in Node.

It needs ``pip install 'bullrush[otel]'`` and, to export spans, an OpenTelemetry SDK that the application configures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson
from opentelemetry import propagate, trace
from opentelemetry.context import Context

from bullrush.telemetry import SpanKind

_KINDS: Final[dict[SpanKind, trace.SpanKind]] = {
    "internal": trace.SpanKind.INTERNAL,
    "producer": trace.SpanKind.PRODUCER,
    "consumer": trace.SpanKind.CONSUMER,
}


class OpenTelemetry:
    """A tracer for ``Queue(..., telemetry=OpenTelemetry())``, for workers and for flow producers.

    It uses the global tracer provider and propagators. With jobs it stores the carrier of the propagators as JSON, as
    ``bullmq-otel`` does.
    """

    def __init__(self, name: str = "bullrush", version: str | None = None) -> None:
        """Make a tracer.

        Args:
            name: the name of the tracer, by convention that of the traced application or library.
            version: the version of that application or library.
        """
        self._name = name
        self._version = version
        self._tracer = trace.get_tracer(name, version)

    def __repr__(self) -> str:
        return f"OpenTelemetry({self._name!r}, {self._version!r})"

    def __reduce__(self) -> tuple[type[OpenTelemetry], tuple[str, str | None]]:
        # Queues can be pickled, tracers cannot.
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
        """Open a span; see `bullrush.telemetry.protocol.Telemetry.span`.

        Args:
            name: see there.
            kind: see there.
            attributes: see there.
            parent: see there.
            links: see there.
        """
        with self._tracer.start_as_current_span(
            name,
            context=None if parent is None else _context(parent),
            kind=_KINDS[kind],
            attributes=attributes,
            links=[trace.Link(context) for link in links if (context := _span_context(link)).is_valid],
        ) as span:
            yield _Span(span)

    def metadata(self) -> str:
        """Return the current context: the carrier of the propagators as JSON."""
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        return orjson.dumps(carrier).decode()


class _Span:
    """A `Span` made of a span of OpenTelemetry."""

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
    """Return a stored context, or a new one if it cannot be read: no job fails because of its telemetry."""
    try:
        carrier = orjson.loads(metadata)
    except ValueError:
        carrier = None
    if not isinstance(carrier, dict):
        return Context()
    return propagate.extract({key: value for key, value in carrier.items() if isinstance(value, str)}, Context())


def _span_context(metadata: str) -> trace.SpanContext:
    return trace.get_current_span(_context(metadata)).get_span_context()
