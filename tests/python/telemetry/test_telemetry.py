"""Telemetry: what is stored with jobs, which spans are opened, and that a handler runs inside one."""

import asyncio
import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from bullrush import FlowProducer, Job, Queue, Worker, aio, errors
from bullrush.telemetry.spans import QUEUE_SPANS, WORKER_SPANS

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed: pip install --group test")

from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bullrush.otel import OpenTelemetry

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


@pytest.fixture
def spans(span_exporter: InMemorySpanExporter) -> Spans:
    span_exporter.clear()
    return Spans(span_exporter)


@pytest.fixture
def traced(spans: Spans, redis_url: str, queue_name: str) -> Iterator[Queue]:
    with Queue(queue_name, url=redis_url, telemetry=OpenTelemetry("app", "1.2")) as queue:
        yield queue


@pytest.fixture
def work(spans: Spans, redis_url: str, queue_name: str) -> Callable[..., None]:
    def run(handler: Any = None, **options: Any) -> None:
        with Worker(queue_name, handler, url=redis_url, telemetry=OpenTelemetry(), **options) as worker:
            worker.run(until="empty")

    return run


def origin(span: ReadableSpan) -> str:
    """Return what a job of this span carries."""
    assert span.context is not None
    carrier = orjson.loads(ELSEWHERE)["traceparent"].split("-")
    return f"{carrier[0]}-{span.context.trace_id:032x}-{span.context.span_id:016x}"


def stored(queue: Queue, redis: Any, job_id: str) -> dict[str, Any]:
    opts: dict[str, Any] = orjson.loads(redis.hget(queue.to_key(job_id), "opts"))
    return opts


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
def test_something_that_is_no_telemetry_is_refused(make: Any, queue_name: str) -> None:
    with pytest.raises(errors.InvalidOptionError, match=r"bullrush\.otel\.OpenTelemetry\(\)"):
        make(queue_name, telemetry="otel")


def test_a_job_runs_in_a_span_that_goes_on_with_its_producers_trace(
    traced: Queue, work: Callable[..., None], spans: Spans
) -> None:
    def handler(job: Any) -> dict[str, int]:
        with user.start_as_current_span("inside"):
            return {"n": job.data["n"] + 1}

    job = traced.add("work", {"n": 1})
    work(handler, name="night-shift")
    added, inside = spans.one(f"add {traced.name}.work"), spans.one("inside")
    ran = spans.one(f"process {traced.name}")
    assert ran.kind is trace.SpanKind.CONSUMER
    assert ran.parent is not None and added.context is not None and ran.context is not None
    assert (ran.context.trace_id, ran.parent.span_id) == (added.context.trace_id, added.context.span_id)
    assert inside.parent is not None
    assert inside.parent.span_id == ran.context.span_id
    said = dict(ran.attributes or {})
    assert said.pop("bullmq.worker.id")
    assert said.pop("bullmq.job.finished.timestamp") >= said.pop("bullmq.job.processed.timestamp") > 0  # type: ignore[operator]
    assert said == {
        "bullmq.queue.name": traced.name,
        "bullmq.queue.operation": "process",
        "bullmq.worker.name": "night-shift",
        "bullmq.job.id": job.id,
        "bullmq.job.name": "work",
        "bullmq.job.attempts.made": 0,
    }
    assert [(event.name, dict(event.attributes or {})) for event in ran.events] == [
        ("job completed", {"bullmq.job.result": '{"n":2}'})
    ]


def test_coroutines_that_run_together_have_a_span_each(traced: Queue, work: Callable[..., None], spans: Spans) -> None:
    together = []

    async def handler(job: aio.Job) -> None:
        together.append(job.id)
        while len(together) < 3:
            await asyncio.sleep(0.001)
        with user.start_as_current_span(f"inside {job.name}"):
            await job.log("row")

    for number in range(3):
        traced.add(f"job {number}")
    work(handler, concurrency=3)
    ran = {
        span.attributes["bullmq.job.name"]: span for span in spans.named(f"process {traced.name}") if span.attributes
    }
    for number in range(3):
        inside = spans.one(f"inside job {number}")
        span = ran[f"job {number}"]
        assert inside.parent is not None and span.context is not None
        assert inside.parent.span_id == span.context.span_id


def test_a_failed_attempt_is_a_failed_span(traced: Queue, work: Callable[..., None], spans: Spans) -> None:
    def handler(job: Any) -> None:
        raise ValueError("no such video")

    job = traced.add("work", attempts=2)
    work(handler)
    first, second = spans.named(f"process {traced.name}")
    assert first.events[0].name == "job failed"
    assert dict(first.events[0].attributes or {}) == {"bullmq.job.failed.reason": "no such video"}
    assert first.status.status_code is trace.StatusCode.ERROR
    assert (first.attributes or {})["bullmq.job.attempts.made"] == 0
    assert (second.attributes or {})["bullmq.job.attempts.made"] == 1
    read = traced.get_job(job.id)
    assert read is not None
    assert "tracing.py" not in read.stacktrace[0], "the trace begins in the handler"


def test_a_job_that_was_moved_has_not_failed(traced: Queue, work: Callable[..., None], spans: Spans) -> None:
    def handler(job: Any) -> None:
        job.move_to_delayed(job.timestamp + 100_000)
        raise errors.DelayedError

    job = traced.add("work")
    work(handler)
    assert job.get_state() == "delayed"
    span = spans.one(f"process {traced.name}")
    assert (span.events, span.status.status_code) == ((), trace.StatusCode.UNSET)


def test_a_result_that_is_no_json_fails_the_job_as_without_telemetry(
    traced: Queue, work: Callable[..., None], spans: Spans
) -> None:
    job = traced.add("work")
    work(lambda job: object())
    read = traced.get_job(job.id)
    assert read is not None
    assert read.failed_reason is not None
    assert read.failed_reason.startswith("returnvalue")


@pytest.mark.parametrize("metadata", ["garbage", "[]", "{}", '{"traceparent":"00-zz"}', '{"traceparent":7}'])
def test_a_context_that_cannot_be_read_begins_a_new_trace(
    queue: Queue, work: Callable[..., None], spans: Spans, metadata: str
) -> None:
    job = queue.add("work", telemetry={"metadata": metadata})
    work(lambda job: None)
    assert job.get_state() == "completed"
    assert spans.one(f"process {queue.name}").parent is None


def test_a_batch_is_one_span_with_links_to_the_producers(
    traced: Queue, work: Callable[..., None], spans: Spans
) -> None:
    jobs = [traced.add(name) for name in "ab"]
    work(batch_handler=lambda jobs: [1, ValueError("no")], batch_size=2)
    span = spans.one(f"process {traced.name}")
    origins = {added.context.span_id for added in spans.all() if added.name.startswith("add ") and added.context}
    assert {link.context.span_id for link in span.links} == origins
    assert [(event.name, (event.attributes or {})["bullmq.job.id"]) for event in span.events] == [
        ("job completed", jobs[0].id),
        ("job failed", jobs[1].id),
    ]


def test_calls_that_manage_a_queue_are_spans(traced: Queue, spans: Spans) -> None:
    traced.pause()
    traced.retry_jobs(count=3)
    traced.drain(delayed=True)
    with pytest.raises(errors.JobNotFoundError):
        traced.update_job_progress("nobody", {"at": 1})
    assert spans.one(f"pause {traced.name}").kind is trace.SpanKind.INTERNAL
    retried = spans.one(f"retryJobs {traced.name}")
    assert retried.kind is trace.SpanKind.PRODUCER
    assert (retried.attributes or {})["bullmq.queue.options"] == '{"count":3}'
    assert (spans.one(f"drain {traced.name}").attributes or {})["bullmq.queue.drain.delay"] is True
    failed = spans.one(f"updateJobProgress {traced.name}")
    assert (failed.attributes or {})["bullmq.job.progress"] == '{"at":1}'
    assert failed.status.status_code is trace.StatusCode.ERROR


def test_every_span_belongs_to_a_call_that_exists() -> None:
    assert set(QUEUE_SPANS) <= set(dir(Queue))
    assert set(WORKER_SPANS) <= set(dir(Worker))


def test_a_job_taken_by_hand_runs_in_a_span(traced: Queue, redis_url: str, spans: Spans) -> None:
    traced.add("work")
    with Worker(traced.name, lambda job: 1, url=redis_url, telemetry=OpenTelemetry()) as worker:
        job = worker.get_next_job("token")
        assert job is not None
        worker.process_job(job, "token")
    assert [event.name for event in spans.one(f"process {traced.name}").events] == ["job completed"]


def isolated(job: Job) -> int:
    return os.getpid()


def test_a_job_in_a_process_of_its_own_has_a_span(traced: Queue, work: Callable[..., None], spans: Spans) -> None:
    job = traced.add("work")
    work(isolated, isolation="process")
    read = traced.get_job(job.id)
    assert read is not None and read.returnvalue not in {None, os.getpid()}
    added, ran = spans.one(f"add {traced.name}.work"), spans.one(f"process {traced.name}")
    assert ran.parent is not None and added.context is not None
    assert ran.parent.span_id == added.context.span_id


async def _use(queue: aio.Queue) -> str:
    async with queue:
        job = await queue.add("work")
        await asyncio.gather(queue.pause(), queue.resume())
    return job.id


def test_an_awaited_queue_has_the_same_spans(redis_url: str, queue_name: str, spans: Spans) -> None:
    asyncio.run(_use(aio.Queue(queue_name, url=redis_url, telemetry=OpenTelemetry())))
    assert sorted(span.name.split()[0] for span in spans.all()) == ["add", "close", "pause", "resume"]
    assert all(span.parent is None for span in spans.all())


def test_a_block_of_the_users_is_a_span_of_the_handle(traced: Queue, spans: Spans) -> None:
    with traced.trace("reconcile", attributes={"rows": 3}) as span:
        span.add_event("half way", {})
        traced.add("work")
    outer, added = spans.one(f"reconcile {traced.name}"), spans.one(f"add {traced.name}.work")
    assert added.parent is not None and outer.context is not None
    assert added.parent.span_id == outer.context.span_id
    assert (outer.attributes or {})["rows"] == 3


def test_a_block_without_telemetry_just_runs(queue: Queue, spans: Spans) -> None:
    with queue.trace("reconcile") as span:
        span.set_attributes({"rows": 3})
        span.record_exception(ValueError())
    assert spans.all() == ()


def test_a_traced_queue_pickles(traced: Queue, spans: Spans) -> None:
    with pickle.loads(pickle.dumps(traced)) as copy:
        copy.add("work")
    assert (spans.one(f"add {traced.name}.work").attributes or {})["bullmq.job.id"] == "1"


def test_a_flow_is_a_tree_of_spans_whose_contexts_go_with_the_jobs(
    spans: Spans, redis_url: str, queue_name: str, redis: Any
) -> None:
    with FlowProducer(url=redis_url, telemetry=OpenTelemetry()) as producer:
        child: Any = {"name": "child", "queue_name": queue_name, "opts": {"telemetry": {"omit_context": True}}}
        tree = producer.add({"name": "root", "queue_name": queue_name, "children": [child, {**child, "opts": {}}]})
    flow = spans.one(f"addFlow {queue_name}")
    assert (flow.attributes or {})["bullmq.flow.name"] == "root"
    nodes = {(span.attributes or {})["bullmq.job.id"]: span for span in spans.named(f"addNode {queue_name}")}
    root, (silent, told) = nodes[tree.job.id], (nodes[child.job.id] for child in tree.children)
    assert root.parent is not None and flow.context is not None
    assert root.parent.span_id == flow.context.span_id
    for span in (silent, told):
        assert span.parent is not None and root.context is not None
        assert span.parent.span_id == root.context.span_id
    assert orjson.loads(tree.job.opts["telemetry"]["metadata"])["traceparent"].startswith(origin(root))
    assert tree.children[0].job.opts["telemetry"] == {"metadata": False, "omit_context": True}
    metadata = orjson.loads(redis.hget(f"bull:{queue_name}:{tree.children[1].job.id}", "opts"))["tm"]
    assert orjson.loads(metadata)["traceparent"].startswith(origin(told))


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
