"""Telemetry of adding: one span per call, and its context goes with the jobs."""

from typing import Any

import orjson
import pytest

from bullrush import FlowProducer, Queue, Worker, aio, errors

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed: pip install --group test")

from opentelemetry import baggage, context, trace

from bullrush.otel import OpenTelemetry

from .ended_spans import ELSEWHERE, Spans, origin, stored, user


def test_an_add_is_a_span_and_its_context_goes_with_the_job(traced: Queue, spans: Spans, redis: Any) -> None:
    with user.start_as_current_span("request") as request:
        job = traced.add("work", {"n": 1})
    span = spans.one(f"add {traced.name}.work")
    assert span.kind is trace.SpanKind.PRODUCER
    assert span.parent is not None
    assert span.parent.span_id == request.get_span_context().span_id
    assert dict(span.attributes or {}) == {
        "bullmq.queue.name": traced.name,
        "bullmq.queue.operation": "add",
        "bullmq.job.name": "work",
        "bullmq.job.id": job.id,
    }
    assert span.instrumentation_scope is not None
    assert (span.instrumentation_scope.name, span.instrumentation_scope.version) == ("app", "1.2")
    metadata = stored(traced, redis, job.id)["tm"]
    assert orjson.loads(metadata)["traceparent"].startswith(origin(span))
    assert job.opts["telemetry"] == {"metadata": metadata}


def test_baggage_goes_with_the_job(traced: Queue, redis: Any) -> None:
    token = context.attach(baggage.set_baggage("user", "7"))
    try:
        job = traced.add("work")
    finally:
        context.detach(token)
    assert orjson.loads(stored(traced, redis, job.id)["tm"])["baggage"] == "user=7"


def test_a_bulk_is_one_span(traced: Queue, spans: Spans, redis: Any) -> None:
    jobs = traced.add_bulk([{"name": "a"}, {"name": "b", "opts": {"telemetry": {"metadata": ELSEWHERE}}}])
    span = spans.one(f"addBulk {traced.name}")
    assert span.attributes is not None
    assert (span.attributes["bullmq.job.bulk.names"], span.attributes["bullmq.job.bulk.count"]) == (("a", "b"), 2)
    first, second = (stored(traced, redis, job.id)["tm"] for job in jobs)
    assert orjson.loads(first)["traceparent"].startswith(origin(span))
    assert second == ELSEWHERE


def test_a_context_can_be_left_out(traced: Queue, redis: Any) -> None:
    job = traced.add("work", telemetry={"omit_context": True})
    assert stored(traced, redis, job.id) == {"attempts": 0, "omc": True}
    (job,) = traced.add_bulk([{"name": "work", "opts": {"telemetry": {"omit_context": True}}}])
    assert stored(traced, redis, job.id) == {"attempts": 0, "omc": True, "tm": False}


def test_a_queue_can_leave_out_the_context_of_all_its_jobs(redis_url: str, queue_name: str, redis: Any) -> None:
    defaults: Any = {"telemetry": {"omit_context": True}}
    with Queue(queue_name, url=redis_url, telemetry=OpenTelemetry(), default_job_options=defaults) as queue:
        assert "tm" not in stored(queue, redis, queue.add("work").id)


def test_without_telemetry_what_was_given_is_stored(queue: Queue, redis: Any) -> None:
    job = queue.add("work", telemetry={"metadata": ELSEWHERE, "omit_context": False})
    assert stored(queue, redis, job.id) == {"attempts": 0, "tm": ELSEWHERE, "omc": False}
    assert "tm" not in stored(queue, redis, queue.add("work").id)


@pytest.mark.parametrize("bad", ["text", {"metadata": 7}, {"meta": "x"}, {"omit_context": "yes"}])
@pytest.mark.parametrize("telemetry", [None, OpenTelemetry()])
def test_a_wrong_option_is_refused(redis_url: str, queue_name: str, bad: Any, telemetry: Any) -> None:
    with (
        Queue(queue_name, url=redis_url, telemetry=telemetry) as queue,
        pytest.raises(errors.InvalidOptionError, match="telemetry"),
    ):
        queue.add("work", telemetry=bad)


@pytest.mark.parametrize("make", [Queue, aio.Queue, lambda name, **options: Worker(name, print, **options)])
def test_a_value_that_is_not_telemetry_is_refused(make: Any, queue_name: str) -> None:
    with pytest.raises(errors.InvalidOptionError, match=r"bullrush\.otel\.OpenTelemetry\(\)"):
        make(queue_name, telemetry="otel")


def test_a_flow_is_a_tree_of_spans_whose_contexts_go_with_the_jobs(
    spans: Spans, redis_url: str, queue_name: str, redis: Any
) -> None:
    with FlowProducer(url=redis_url, telemetry=OpenTelemetry()) as producer:
        child: Any = {"name": "child", "queue_name": queue_name, "opts": {"telemetry": {"omit_context": True}}}
        tree = producer.add({"name": "root", "queue_name": queue_name, "children": [child, {**child, "opts": {}}]})
    flow = spans.one(f"addFlow {queue_name}")
    assert (flow.attributes or {})["bullmq.flow.name"] == "root"
    nodes = {(span.attributes or {})["bullmq.job.id"]: span for span in spans.named(f"addNode {queue_name}")}
    root, (silent, passed_on) = nodes[tree.job.id], (nodes[child.job.id] for child in tree.children)
    assert root.parent is not None and flow.context is not None
    assert root.parent.span_id == flow.context.span_id
    for span in (silent, passed_on):
        assert span.parent is not None and root.context is not None
        assert span.parent.span_id == root.context.span_id
    assert orjson.loads(tree.job.opts["telemetry"]["metadata"])["traceparent"].startswith(origin(root))
    assert tree.children[0].job.opts["telemetry"] == {"metadata": False, "omit_context": True}
    metadata = orjson.loads(redis.hget(f"bull:{queue_name}:{tree.children[1].job.id}", "opts"))["tm"]
    assert orjson.loads(metadata)["traceparent"].startswith(origin(passed_on))


def test_many_flows_are_one_span(spans: Spans, redis_url: str, queue_name: str) -> None:
    with FlowProducer(url=redis_url, telemetry=OpenTelemetry()) as producer:
        producer.add_bulk([{"name": name, "queue_name": queue_name} for name in "ab"])
    said = spans.one("addBulkFlows").attributes or {}
    assert (said["bullmq.job.bulk.count"], said["bullmq.job.bulk.names"]) == (2, "a,b")


def test_a_schedulers_first_job_carries_the_context_and_its_template_does_not(
    traced: Queue, spans: Spans, redis: Any
) -> None:
    job = traced.upsert_job_scheduler("nightly", {"every": 100_000}, {"name": "report", "opts": {"attempts": 2}})
    assert job is not None
    span = spans.one(f"add {traced.name}.report")
    assert (span.attributes or {})["bullmq.job.scheduler.id"] == "nightly"
    assert orjson.loads(stored(traced, redis, job.id)["tm"])["traceparent"].startswith(origin(span))
    assert stored(traced, redis, "repeat:nightly") == {"attempts": 2}
