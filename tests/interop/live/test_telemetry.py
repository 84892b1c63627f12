"""Traces across languages: real bullmq-otel on one side, bullrush.otel on the other, and both compared."""

import json
import re
from typing import Any

import pytest

from bullrush import FlowProducer, Queue, Worker
from tests.interop.conftest import HERE
from tests.interop.sides.results import snaked
from tests.schemas import problems

pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk is not installed: pip install --group test")
if not (HERE / "node_modules" / "bullmq5-otel").is_dir():
    pytest.skip("bullmq-otel is not installed: run 'npm ci' in tests/interop", allow_module_level=True)


from bullrush.otel import OpenTelemetry

CONTEXT = re.compile(r'^\{"traceparent":"00-[0-9a-f]{32}-[0-9a-f]{16}-0[13]"\}$')
METADATA = '{"traceparent":"00-551eb70a14c5b2d92aa832d62924bc2e-fd3a09b42d3007ae-01"}'
#: The telemetry options of a job.
GIVEN: list[dict[str, Any] | None] = [
    None,
    {},
    {"metadata": METADATA},
    {"omitContext": True},
    {"omitContext": False},
    {"metadata": METADATA, "omitContext": True},
]


@pytest.fixture
def our_spans(span_exporter):
    """Return our ended spans in the form of Node's."""
    span_exporter.clear()

    def take():
        spans = [
            {
                "name": span.name,
                "kind": span.kind.name,
                "traceId": f"{span.context.trace_id:032x}",
                "spanId": f"{span.context.span_id:016x}",
                "parentId": span.parent and f"{span.parent.span_id:016x}",
                "attributes": {
                    key: list(value) if isinstance(value, tuple) else value for key, value in span.attributes.items()
                },
                "events": [[event.name, dict(event.attributes)] for event in span.events],
            }
            for span in span_exporter.get_finished_spans()
        ]
        span_exporter.clear()
        return spans

    return take


class Node:
    """The same calls by real BullMQ with bullmq-otel."""

    def __init__(self, process, queue_name):
        self._process = process
        self._at = {"db": 0, "prefix": "bull", "queue": queue_name}

    def __call__(self, op, **args):
        return self._process.call(op, at=self._at, **args)

    def queue(self, method, *args, telemetry=True):
        return self("queue", opts={"telemetry": telemetry}, method=method, args=list(args))

    def flow(self, flow):
        return self("flows", opts={"telemetry": True}, method="add", args=[flow])

    def spans(self):
        return self._process.call("spans")


@pytest.fixture
def node_traced(node, queue_name, our_spans):
    found = Node(node, queue_name)
    found.queue("getJobCounts")
    found.spans()
    yield found
    node.call("close", stem=queue_name)


@pytest.fixture
def traced(redis_url, queue_name, our_spans):
    with Queue(queue_name, url=redis_url, telemetry=OpenTelemetry("app", "1.2")) as queue:
        yield queue


def named(spans, name):
    (span,) = [span for span in spans if span["name"].startswith(name)]
    return span


def stored(redis, queue_name, job_id):
    """Return a job's options with the random parts of the trace context replaced."""
    opts = json.loads(redis.hget(f"bull:{queue_name}:{job_id}", "opts"))
    if isinstance(opts.get("tm"), str) and opts["tm"] != METADATA:
        assert CONTEXT.match(opts["tm"])
        opts["tm"] = "the current context"
    return opts


def test_our_worker_goes_on_with_their_trace(node_traced, our_spans, redis_url, queue_name):
    node_traced.queue("add", "work", {})
    with Worker(queue_name, lambda job: 1, url=redis_url, telemetry=OpenTelemetry()) as worker:
        worker.run(until="empty")
    added, ran = named(node_traced.spans(), "add "), named(our_spans(), "process ")
    assert (ran["traceId"], ran["parentId"]) == (added["traceId"], added["spanId"])


def test_their_worker_goes_on_with_our_trace(node_traced, our_spans, traced):
    traced.add("work")
    assert node_traced("work", token="t", worker={"telemetry": True})["ran"] == ["1"]
    added, ran = named(our_spans(), "add "), named(node_traced.spans(), "process ")
    assert (ran["traceId"], ran["parentId"]) == (added["traceId"], added["spanId"])


def test_a_trace_goes_from_node_to_us_and_back(node_traced, our_spans, traced, redis_url, queue_name):
    node_traced.queue("add", "first", {})
    with Worker(queue_name, lambda job: traced.add("second").id, url=redis_url, telemetry=OpenTelemetry()) as worker:
        worker.run(max_jobs=1)
    node_traced("work", token="t", worker={"telemetry": True})
    theirs, ours = node_traced.spans(), our_spans()
    assert {span["traceId"] for span in theirs if span["name"].startswith(("add ", "process "))} == {
        named(ours, "process ")["traceId"]
    }
    assert named(ours, "add ")["parentId"] == named(ours, "process ")["spanId"]


@pytest.mark.parametrize("traced_by_both", [True, False])
@pytest.mark.parametrize("given", GIVEN)
def test_what_is_stored_with_a_job_is_the_same(node_traced, redis_url, redis, queue_name, given, traced_by_both):
    opts = {} if given is None else {"telemetry": given}
    with Queue(queue_name, url=redis_url, telemetry=OpenTelemetry() if traced_by_both else None) as queue:
        ours = [
            queue.add("work", {}, **snaked(opts)).id,
            *(job.id for job in queue.add_bulk([{"name": "work", "opts": snaked(opts)}])),
        ]
    theirs = [
        node_traced.queue("add", "work", {}, opts, telemetry=traced_by_both)["id"],
        *(
            job["id"]
            for job in node_traced.queue(
                "addBulk", [{"name": "work", "data": {}, "opts": opts}], telemetry=traced_by_both
            )
        ),
    ]
    for our_id, their_id in zip(ours, theirs, strict=True):
        assert stored(redis, queue_name, our_id) == stored(redis, queue_name, their_id)


@pytest.mark.parametrize("given", GIVEN)
def test_what_is_stored_with_a_flow_is_the_same(node_traced, redis_url, redis, queue_name, given):
    opts = {} if given is None else {"telemetry": given}
    node_traced.flow({"name": "root", "queueName": queue_name, "data": {}, "opts": {"jobId": "theirs", **opts}})
    with FlowProducer(url=redis_url, telemetry=OpenTelemetry()) as producer:
        producer.add({"name": "root", "queue_name": queue_name, "opts": {"job_id": "ours", **snaked(opts)}})
    ours, theirs = (stored(redis, queue_name, id) for id in ("ours", "theirs"))
    assert {**ours, "jobId": "theirs"} == theirs


@pytest.mark.parametrize("given", GIVEN)
def test_what_is_stored_with_a_schedulers_job_is_the_same(node_traced, traced, redis, queue_name, given):
    opts = {} if given is None else {"telemetry": given}
    every = {"every": 10_000_000}
    ours = traced.upsert_job_scheduler("ours", every, {"name": "tick", "opts": snaked(opts)}).id
    theirs = node_traced.queue("upsertJobScheduler", "theirs", every, {"name": "tick", "opts": opts})["id"]
    ours, theirs = (stored(redis, queue_name, id).get for id in (ours, theirs))
    assert [ours(field, "nothing") for field in ("tm", "omc")] == [theirs(field, "nothing") for field in ("tm", "omc")]
    ours, theirs = (redis.hgetall(f"bull:{queue_name}:repeat:{id}") for id in ("ours", "theirs"))
    assert json.loads(ours.get("opts", "{}")) == json.loads(theirs.get("opts", "{}"))


SAME_SPANS = [
    ("add", ["work", {}], ["work"], {}),
    ("addBulk", [[{"name": "a", "data": {}}, {"name": "b", "data": {}}]], [[{"name": "a"}, {"name": "b"}]], {}),
    ("pause", [], [], {}),
    ("resume", [], [], {}),
    ("drain", [True], [True], {}),
    ("retryJobs", [{"state": "completed"}], [], {"state": "completed"}),
    ("promoteJobs", [{"count": 7}], [], {"count": 7}),
    ("trimEvents", [10], [10], {}),
    ("clean", [0, 10, "failed"], [0, 10, "failed"], {}),
    ("remove", ["1", {"removeChildren": True}], ["1"], {"remove_children": True}),
    ("rateLimit", [1], [1], {}),
    ("removeDeduplicationKey", ["d"], ["d"], {}),
    ("removeDebounceKey", ["d"], ["d"], {}),
    ("removeRepeatableByKey", ["k"], ["k"], {}),
    ("obliterate", [], [], {}),
    ("close", [], [], {}),
]


@pytest.mark.parametrize(("method", "theirs", "positional", "keywords"), SAME_SPANS, ids=[row[0] for row in SAME_SPANS])
def test_the_span_of_a_call_is_the_same(node_traced, our_spans, traced, method, theirs, positional, keywords):
    node_traced.queue(method, *theirs)
    getattr(traced, re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), method))(*positional, **keywords)
    (ours, theirs) = ({**named(spans, f"{method} ")} for spans in (our_spans(), node_traced.spans()))
    for span in (ours, theirs):
        for varying in ("traceId", "spanId", "parentId"):
            del span[varying]
        span["attributes"].pop("bullmq.job.id", None)
        span["attributes"].pop("bullmq.job.ids", None)  # what clean() removed: it may be ten thousand
    assert ours == theirs


@pytest.mark.parametrize("boom", [False, True])
def test_the_span_of_a_job_says_the_same(node_traced, our_spans, traced, redis_url, queue_name, boom):
    data = {"runs": [[["throw", "boom"]]]} if boom else {}

    def handler(job):
        if boom:
            raise ValueError("boom")
        return job.data

    traced.add("work", data)
    with Worker(queue_name, handler, url=redis_url, telemetry=OpenTelemetry(), name="w") as worker:
        worker.run(until="empty")
    node_traced.queue("add", "work", data)
    node_traced("work", token="t", worker={"telemetry": True, "name": "w"})
    ours, theirs = named(our_spans(), "process "), named(node_traced.spans(), "process ")
    assert ours["kind"] == theirs["kind"]
    assert ours["events"][0] == theirs["events"][0]
    times = {"bullmq.job.id", "bullmq.job.finished.timestamp", "bullmq.job.processed.timestamp", "bullmq.worker.id"}
    assert ours["attributes"].keys() == theirs["attributes"].keys()
    assert [{k: v for k, v in side["attributes"].items() if k not in times} for side in (ours, theirs)] == [
        {k: v for k, v in theirs["attributes"].items() if k not in times}
    ] * 2


def test_jobs_with_a_trace_are_what_the_schemas_say(node_traced, traced, redis_url, redis, queue_name):
    def boom(job):
        raise ValueError("boom")

    node_traced.queue("add", "work", {"runs": [[["throw", "boom"]]]}, {"attempts": 2})
    traced.add("work", {}, attempts=2)
    node_traced("work", token="t", worker={"telemetry": True})
    with Worker(queue_name, boom, url=redis_url, telemetry=OpenTelemetry()) as worker:
        worker.run(until="empty")
    read = [redis.hgetall(f"bull:{queue_name}:{job_id}") for job_id in "12"]
    jobs = [{as_text(name): as_text(value) for name, value in job.items()} for job in read]
    assert "tm" in jobs[0], "what Node notes about a failed attempt"
    assert ["tm" in json.loads(job["opts"]) for job in jobs] == [True, True]
    assert [problems("job.json", job) for job in jobs] == [[], []]


def as_text(value):
    return value.decode() if isinstance(value, bytes) else value
