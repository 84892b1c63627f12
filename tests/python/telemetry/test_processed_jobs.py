"""Telemetry of workers: each job runs in a span that continues the trace of its producer."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

from bullrush import Job, Queue, Tasks, Worker, aio, errors

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed: pip install --group test")

from opentelemetry import trace

from bullrush.otel import OpenTelemetry

from .ended_spans import Spans, user


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
    finished, began = (said.pop(f"bullmq.job.{when}.timestamp") for when in ("finished", "processed"))
    assert finished >= began > 0  # type: ignore[operator]
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


def test_the_span_of_a_moved_job_is_not_an_error(traced: Queue, work: Callable[..., None], spans: Spans) -> None:
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


def test_a_job_of_a_manual_worker_runs_in_a_span(traced: Queue, redis_url: str, spans: Spans) -> None:
    traced.add("work")
    with Worker(traced.name, lambda job: 1, url=redis_url, telemetry=OpenTelemetry()) as worker:
        job = worker.get_next_job("token")
        assert job is not None
        worker.process_job(job, "token")
    assert [event.name for event in spans.one(f"process {traced.name}").events] == ["job completed"]


def process_id(job: Job) -> int:
    return os.getpid()


def test_a_job_in_a_process_of_its_own_has_a_span(traced: Queue, work: Callable[..., None], spans: Spans) -> None:
    job = traced.add("work")
    work(process_id, isolation="process")
    read = traced.get_job(job.id)
    assert read is not None and read.returnvalue not in {None, os.getpid()}
    added, ran = spans.one(f"add {traced.name}.work"), spans.one(f"process {traced.name}")
    assert ran.parent is not None and added.context is not None
    assert ran.parent.span_id == added.context.span_id


def test_a_retry_and_the_last_failure_have_spans_in_the_trace_of_the_producer(
    traced: Queue, work: Callable[..., None], spans: Spans
) -> None:
    def handler(job: Job) -> None:
        raise ValueError("no luck")

    job = traced.add("work", attempts=2)
    work(handler)
    added = spans.one(f"add {traced.name}.work")
    retried, failed = spans.one(f"retry {traced.name}"), spans.one(f"fail {traced.name}")
    for span, attempts in ((retried, 1), (failed, 2)):
        assert span.context is not None and added.context is not None
        assert span.context.trace_id == added.context.trace_id
        said = dict(span.attributes or {})
        assert (said["bullmq.job.id"], said["bullmq.job.attempts.made"]) == (job.id, attempts)
        assert said["bullmq.job.failed.reason"] == "no luck"
    assert (retried.attributes or {})["bullmq.job.delay"] == 0
    assert retried.status.is_unset and [event.name for event in failed.events] == ["exception"]


@pytest.mark.parametrize(("options", "traced"), [({}, True), ({"worker_options": {"telemetry": None}}, False)])
@pytest.mark.parametrize("kind", [Worker, aio.Worker])
def test_the_tracer_of_a_registry_is_that_of_its_workers_unless_they_have_another(
    spans: Spans, redis_url: str, queue_name: str, kind: Any, options: Any, traced: bool
) -> None:
    tasks = Tasks(queue_name, url=redis_url, telemetry=OpenTelemetry("app"), **options)

    @tasks.task
    async def ship(order: int) -> int:
        return order

    async def run() -> None:
        async with aio.Worker(tasks) as worker:
            await worker.run(until="empty")

    job = ship.enqueue(7)
    if kind is aio.Worker:
        asyncio.run(run())
    else:
        with Worker(tasks) as worker:
            worker.run(until="empty")
    assert job.result(timeout=5_000) == 7
    added = spans.one(f"add {queue_name}.ship")
    ran = spans.named(f"process {queue_name}")
    assert bool(ran) is traced
    assert all(span.parent is not None and span.parent.span_id == added.context.span_id for span in ran)  # type: ignore[union-attr]
    tasks.close()
