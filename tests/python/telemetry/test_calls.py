"""Telemetry of the other calls: managing a queue, pickling it, and spans of the user's own."""

import asyncio
import pickle

import pytest

from bullrush import Queue, Worker, aio, errors
from bullrush.telemetry.spans import QUEUE_SPANS, WORKER_SPANS

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed: pip install --group test")

from opentelemetry import trace

from bullrush.otel import OpenTelemetry

from .ended_spans import Spans


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


async def _use(queue: aio.Queue) -> str:
    async with queue:
        job = await queue.add("work")
        await asyncio.gather(queue.pause(), queue.resume())
    return job.id


def test_an_awaited_queue_has_the_same_spans(redis_url: str, queue_name: str, spans: Spans) -> None:
    asyncio.run(_use(aio.Queue(queue_name, url=redis_url, telemetry=OpenTelemetry())))
    assert sorted(span.name.split()[0] for span in spans.all()) == ["add", "close", "pause", "resume"]
    assert all(span.parent is None for span in spans.all())


def test_a_trace_block_of_the_user_is_a_span(traced: Queue, spans: Spans) -> None:
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
