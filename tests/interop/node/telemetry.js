'use strict';
// OpenTelemetry as a Node service sets it up, with bullmq-otel on top, loaded at its first use. Spans stay in memory.

let traced = null;

function setUp() {
  const api = require('@opentelemetry/api');
  const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');
  const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
  const { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } = require('@opentelemetry/core');
  const { BullMQOtel } = require('bullmq5-otel');

  const exporter = new InMemorySpanExporter();
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
  api.propagation.setGlobalPropagator(new CompositePropagator({ propagators }));
  return { api, exporter, telemetry: new BullMQOtel('app', '1.2') };
}

/** Returns options in which `telemetry: true` is replaced by the real object. */
function withTelemetry(opts) {
  if (!opts.telemetry) {
    return opts;
  }
  traced ??= setUp();
  return { ...opts, telemetry: traced.telemetry };
}

/** Returns the spans that have ended, and forgets them. */
function takeSpans() {
  const { api, exporter } = traced;
  const spans = exporter.getFinishedSpans().map(span => ({
    name: span.name,
    kind: api.SpanKind[span.kind],
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
    parentId: span.parentSpanContext?.spanId ?? null,
    attributes: span.attributes,
    events: span.events.map(event => [event.name, event.attributes ?? {}]),
  }));
  exporter.reset();
  return spans;
}

module.exports = { withTelemetry, takeSpans };
