"""Tracing: the protocol of a tracer, and which calls open which spans."""

from bullrush.telemetry.protocol import JobTelemetry, Span, SpanKind, Telemetry

__all__ = ["JobTelemetry", "Span", "SpanKind", "Telemetry"]
