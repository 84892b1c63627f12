"""Which calls open a span when a handle has telemetry. Names and attributes of the spans are BullMQ's."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from bullrush.telemetry.protocol import SpanKind
from bullrush.values.encoding import encode
from bullrush.values.naming import camel

T = TypeVar("T")


class SpanRule(NamedTuple):
    """The span of one call.

    Attributes:
        kind: the kind of span.
        attributes: the span's attribute for each argument of the call.
        rest: the attribute with all other arguments, as JSON.
    """

    kind: SpanKind = "internal"
    attributes: Mapping[str, str] = {}
    rest: str | None = None


QUEUE_SPANS: Final[dict[str, SpanRule]] = {
    "retry_jobs": SpanRule("producer", rest="bullmq.queue.options"),
    "promote_jobs": SpanRule(rest="bullmq.queue.options"),
    "promote_due": SpanRule(rest="bullmq.queue.options"),
    "promote_many": SpanRule(),
    "pause": SpanRule(),
    "resume": SpanRule(),
    "drain": SpanRule(attributes={"delayed": "bullmq.queue.drain.delay"}),
    "clean": SpanRule(
        attributes={"grace": "bullmq.queue.grace", "limit": "bullmq.queue.clean.limit", "type": "bullmq.job.type"}
    ),
    "obliterate": SpanRule(),
    "trim_events": SpanRule(attributes={"max_length": "bullmq.queue.event.max.length"}),
    "remove": SpanRule(attributes={"job_id": "bullmq.job.id"}, rest="bullmq.job.options"),
    "remove_deduplication_key": SpanRule(attributes={"id": "bullmq.job.deduplication.key"}),
    "remove_debounce_key": SpanRule(attributes={"id": "bullmq.job.key"}),
    "remove_repeatable": SpanRule(attributes={"name": "bullmq.job.name"}),
    "remove_repeatable_by_key": SpanRule(attributes={"key": "bullmq.job.key"}),
    "update_job_progress": SpanRule(attributes={"job_id": "bullmq.job.id", "progress": "bullmq.job.progress"}),
    "rate_limit": SpanRule(attributes={"expire_time": "bullmq.queue.rate.limit"}),
    "close": SpanRule(),
}
WORKER_SPANS: Final[dict[str, SpanRule]] = {
    "pause": SpanRule(attributes={"do_not_wait_active": "bullmq.worker.do.not.wait.active"}),
    "close": SpanRule(attributes={"force": "bullmq.worker.force.close"}),
}


#: Called when a span is opened, and not when a class is made.
_signature: Final = functools.cache(inspect.signature)


def traced(name: str, rule: SpanRule, steps: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Any]:
    """Return an operation that runs inside a span if the handle has telemetry."""

    @functools.wraps(steps)
    def call(handle: Any, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, T]:
        if handle.telemetry is None:
            return steps(handle, *args, **kwargs)
        return call_in_span(handle, *args, **kwargs)

    async def call_in_span(handle: Any, *args: Any, **kwargs: Any) -> T:
        given = _signature(steps).bind(handle, *args, **kwargs)
        with handle.trace(camel(name), kind=rule.kind, attributes=_attributes(rule, given)):
            return await steps(handle, *args, **kwargs)

    return call


def _attributes(rule: SpanRule, given: inspect.BoundArguments) -> dict[str, Any]:
    rest = dict(list(given.arguments.items())[1:])
    given.apply_defaults()
    attributes: dict[str, Any] = {}
    for argument, attribute in rule.attributes.items():
        rest.pop(argument, None)
        value = given.arguments.get(argument)
        if value is not None:
            attributes[attribute] = value if isinstance(value, str | bool | int | float) else as_json(value)
    if rule.rest is not None:
        attributes[rule.rest] = as_json({camel(argument): value for argument, value in rest.items()})
    return attributes


def as_json(value: object) -> str:
    """Return a value as the JSON text of an attribute; its ``repr`` if it is not JSON."""
    try:
        return encode(value, "attribute").decode()
    except ValueError:
        return repr(value)
