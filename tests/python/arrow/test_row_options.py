"""Options that rows give: the same checks and the same stored JSON as `Queue.add`."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta

import pyarrow as pa
import pytest

from bullrush import Queue
from bullrush.arrow import ArrowWriter
from bullrush.errors import InvalidOptionError, RedisServerError, UnknownOptionError

#: Options of one job, as they could come from JSON, in the order in which both sides store them.
OPTIONS = [
    {},
    {"attempts": 3},
    {"backoff": 500, "attempts": 5},
    {"backoff": {"type": "exponential", "delay": 100, "jitter": 0.5}},
    {"lifo": True, "keep_logs": 5, "stack_trace_limit": 2},
    {"remove_on_complete": True, "remove_on_fail": {"age": 3600, "count": 100}},
    {"remove_on_complete": 10, "size_limit": 1000},
    {"delay": 60_000},
    {"priority": 7},
    {"timestamp": 1_700_000_000_000, "delay": 5},
    {"deduplication": {"id": "once", "ttl": 60_000, "keep_last_if_active": True}},
    {"debounce": {"id": "older"}},
    {"telemetry": {"metadata": "ctx", "omit_context": True}},
]


@pytest.fixture
def new_queue(redis_url: str, queue_name: str) -> Iterator[Callable[[], Queue]]:
    """Make queues whose names have the same length."""
    made: list[Queue] = []

    def make() -> Queue:
        made.append(Queue(f"{queue_name}{len(made)}", url=redis_url))
        return made[-1]

    yield make
    for queue in made:
        queue.obliterate(force=True)
        queue.close()


def stored(redis, queue: Queue, job_id: str) -> dict[str, str]:
    """Return the hash of a job, without the time of its add if that is now."""
    fields = redis.hgetall(queue.to_key(job_id))
    if "timestamp" not in json.loads(fields["opts"]):
        del fields["timestamp"]
    return fields


def written(queue: Queue, rows: dict[str, list], **columns) -> list[str]:
    with ArrowWriter(queue, name="n", data=["x"], **columns) as writer:
        return writer.add(pa.table(rows))


def test_options_of_rows_are_stored_as_queue_add_stores_them(new_queue, redis) -> None:
    one, many = new_queue(), new_queue()
    rows = {"x": [1] * len(OPTIONS), "more": [json.dumps(options) for options in OPTIONS]}
    ids = written(many, rows, opts_column="more")
    for options, job_id in zip(OPTIONS, ids, strict=True):
        alone = one.add("n", {"x": 1}, **options)
        expected = json.loads(json.dumps(stored(redis, one, alone.id)).replace(one.name, many.name))
        assert stored(redis, many, job_id) == expected


def test_columns_of_one_option_are_stored_as_queue_add_stores_them(new_queue, redis) -> None:
    one, many = new_queue(), new_queue()
    for queue in (one, many):
        for parent in ("p", "q"):
            queue.add("parent", {}, job_id=parent)
    cases = [
        {"priority": 3, "parent": "p", "delay": 1000},
        {"priority": 3, "parent": "q", "delay": 2000},
        {"parent": "q"},
        {"delay": 0},
        {"priority": 1},
        {},
    ]
    rows = {"x": [1] * len(cases)} | {
        name: pa.array([case.get(name) for case in cases], kind)
        for name, kind in {"priority": pa.int32(), "parent": pa.string(), "delay": pa.int64()}.items()
    }
    columns = {"priority_column": "priority", "parent_column": "parent", "delay_column": "delay"}
    ids = written(many, rows, opts={"attempts": 2, "fail_parent_on_failure": True}, **columns)
    for case, job_id in zip(cases, ids, strict=True):
        options = {"attempts": 2, "fail_parent_on_failure": True, **case}
        if "parent" in options:
            options["parent"] = {"id": options["parent"], "queue": one.qualified_name}
        if "delay" in options:  # the delay of a row is stored last
            options["delay"] = options.pop("delay")
        alone = one.add("n", {"x": 1}, **options)
        expected = json.loads(json.dumps(stored(redis, one, alone.id)).replace(one.name, many.name))
        assert stored(redis, many, job_id) == expected
    assert redis.scard(many.to_key("q:dependencies")) == 2


def test_a_struct_gives_options_a_duration_a_delay_and_a_struct_a_parent_of_another_queue(new_queue, redis) -> None:
    queue, other = new_queue(), new_queue()
    other.add("parent", {}, job_id="p")
    rows = {
        "x": [1, 2],
        "more": [{"attempts": 4, "backoff": {"type": "fixed", "delay": 10}}, {"attempts": None, "backoff": None}],
        "wait": pa.array([timedelta(seconds=2), None], pa.duration("us")),
        "parent": [None, {"id": "p", "queue": other.qualified_name}],
    }
    columns = {"opts_column": "more", "delay_column": "wait", "parent_column": "parent"}
    first, second = written(queue, rows, opts={"attempts": 2}, **columns)
    assert redis.hget(queue.to_key(first), "opts") == (
        '{"attempts":4,"backoff":{"type":"fixed","delay":10},"delay":2000}'
    )
    assert json.loads(redis.hget(queue.to_key(second), "opts"))["attempts"] == 2, "a null is not given"
    assert redis.hget(queue.to_key(second), "parentKey") == other.to_key("p")
    assert redis.smembers(other.to_key("p:dependencies")) == {queue.to_key(second)}


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "opts_column",
            ['{"attempts":-1}'],
            r"attempts must be greater or equal than 0, not -1 \(row 1 of its batch\)",
        ),
        ("opts_column", ["[1]"], "must be an object"),
        ("opts_column", ["{"], "are not JSON"),
        ("opts_column", ['{"job_id":"x"}'], "use job_id="),
        ("opts_column", ['{"size_limit":3}'], "exceeds the limit 3 bytes"),
        ("opts_column", [7], "it holds Int64"),
        ("priority_column", [2_097_153], "Priority should be between 0 and 2097152"),
        ("priority_column", [1.5], "priority must be a whole number"),
        ("delay_column", [2**60], r"delay must be a whole number up to 2\^53, not 1152921504606846976 "),
        ("delay_column", [2**45], "a job cannot be due later than"),
        ("parent_column", [{"id": "p", "queue": "nowhere"}], "must be a queue with its prefix"),
        (
            "parent_column",
            [{"id": "p", "queue": "b:q"}, {"id": "p", "queue": None}],
            "parent needs the id and the queue",
        ),
    ],
)
def test_a_wrong_option_of_a_row_refuses_the_batch_and_names_the_row(
    queue: Queue, column: str, values: list, message: str
) -> None:
    rows = {"x": [0] * (len(values) + 1), "column": pa.array([None, *values])}
    with pytest.raises(InvalidOptionError, match=message):
        written(queue, rows, **{column: "column"})
    assert queue.count() == 0


def test_an_unknown_option_of_a_row_names_the_known_one(queue: Queue) -> None:
    with pytest.raises(UnknownOptionError, match="use 'remove_on_fail'"):
        written(queue, {"x": [1], "more": ['{"removeOnFail":true}']}, opts_column="more")


def test_rows_that_cannot_be_jobs_are_left_out_on_request(queue: Queue) -> None:
    rows = pa.table(
        {
            "id": ["a", None, "c:d", "e", "f"],
            "priority": [1, 1, 1, -1, 2],
        }
    )
    with ArrowWriter(queue, job_id="id", priority_column="priority", on_invalid="skip") as writer:
        writer.write(rows)
    assert (writer.added, writer.skipped) == (2, 3)
    assert {job.id for job in queue.get_jobs("prioritized")} == {"a", "f"}


def test_a_string_that_is_no_utf8_refuses_its_batch_or_is_left_out(queue: Queue) -> None:
    text = pa.array([b"good", b"\xff", b"fine"]).view(pa.string())
    rows = pa.table({"text": text, "list": pa.array([["a"], ["b"], None])})
    with (
        pytest.raises(InvalidOptionError, match='Column "text" has a string that is no UTF-8 in row 1'),
        ArrowWriter(queue) as writer,
    ):
        writer.write(rows)
    assert queue.count() == 0
    with ArrowWriter(queue, id_scope="scope", on_invalid="skip") as writer:
        writer.write(rows)
    assert (writer.added, writer.skipped) == (2, 1)
    assert sorted(job.data["text"] for job in queue.get_jobs("waiting")) == ["fine", "good"]


def test_a_parent_that_does_not_exist_refuses_its_part_of_the_batch(queue: Queue) -> None:
    with pytest.raises(Exception, match="Missing key for parent job"):
        written(queue, {"x": [1], "parent": ["nobody"]}, parent_column="parent")
    assert queue.count() == 0


def test_writers_of_one_batch_share_its_counter(queue: Queue, redis) -> None:
    table = pa.table({"x": [1, 2, 2]})
    for expected in ((3, 0), (0, 3)):
        with ArrowWriter(queue, id_scope="s", batch_id="b") as writer:
            writer.write(table)
        assert (writer.added, writer.duplicates) == expected
    assert redis.get(queue.to_key("ext:enq-b")) == "3"
    for wrong in ("", "a:b", "x" * 201, 7):
        with pytest.raises(InvalidOptionError, match="batch_id"):
            ArrowWriter(queue, batch_id=wrong)


def test_a_counter_of_another_program_is_an_error_before_anything_is_added(queue: Queue, redis) -> None:
    redis.rpush(queue.to_key("ext:enq-b"), "x")
    with pytest.raises(RedisServerError, match="another program uses this key"), ArrowWriter(queue, batch_id="b") as w:
        w.write(pa.table({"x": [1]}))
    assert queue.count() == 0


def test_jobs_of_two_names_are_two_jobs(queue: Queue) -> None:
    for name in ("mail", "sms"):
        with ArrowWriter(queue, name=name, id_scope="day") as writer:
            writer.write(pa.table({"x": [1]}))
        assert writer.added == 1
