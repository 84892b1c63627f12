"""bullrush.legacy.convert: the hash of a Bull job as BullMQ would hold it."""

import orjson
import pytest

from bullrush.legacy.backoff import bull_backoff
from bullrush.legacy.convert import Rules, changes, convert, due_at

NOW = 1_795_225_366_409
KEEP = Rules()
#: As Bull 1.0.0 adds a job.
FIRST = {
    "data": b'{ "n": 1.0 }',
    "opts": b'{"attempts":3,"delay":500,"backoff":200,"lifo":false}',
    "progress": b"0",
    "delay": b"500",
    "timestamp": b"%d" % NOW,
    "attempts": b"3",
    "attemptsMade": b"0",
    "stacktrace": b"[]",
    "returnvalue": b"null",
}
#: As Bull 4.16.5 adds a job.
LAST = {
    "name": b"welcome",
    "data": b'{"n":1}',
    "opts": b'{"attempts":3,"delay":0,"timestamp":%d,"backoff":{"type":"exponential","delay":100},"priority":7}' % NOW,
    "timestamp": b"%d" % NOW,
    "delay": b"0",
    "priority": b"7",
}


def of(raw, state="wait", rules=KEEP, **more):
    return convert({**raw, **more.pop("fields", {})}, state, NOW, rules, **more)


def opts_of(raw, rules=KEEP, **opts):
    fields = {"opts": orjson.dumps(opts)} if opts else {}
    return orjson.loads(of(raw, rules=rules, fields=fields).fields["opts"])


@pytest.mark.parametrize("raw", [FIRST, LAST], ids=["bull1", "bull4"])
def test_a_waiting_job_has_the_fields_of_a_new_job_of_bullmq(raw):
    fields = of(raw).fields
    assert list(fields) == ["data", "name", "opts", "timestamp", "delay", "priority"]
    assert fields["data"] is raw["data"]
    assert (fields["delay"], fields["priority"]) == (b"0", b"0")


def test_options_that_mean_nothing_to_bullmq_are_dropped():
    assert opts_of(FIRST) == {"attempts": 3, "backoff": {"type": "fixed", "delay": 200}}
    kept = {"removeOnComplete": {"age": 60}, "removeOnFail": 5, "stackTraceLimit": 2, "lifo": True}
    dropped = {
        "timestamp": NOW,
        "delay": 5,
        "repeat": {"every": 5},
        "jobId": "a",
        "debounce": {"id": "b"},
        "prevMillis": 1,
    }
    assert opts_of(LAST, **kept, **dropped) == {**kept, "attempts": 0}


def test_the_limit_of_attempts_of_bull_1_is_a_field_of_its_own():
    fields = of(FIRST, fields={"attempts": b"5", "opts": b"{}"}).fields
    assert orjson.loads(fields["opts"]) == {"attempts": 5}
    assert "attempts" not in fields


def test_waiting_jobs_keep_their_priority_only_where_that_is_asked_for():
    assert of(LAST).priority == 0
    assert "priority" not in opts_of(LAST)
    by_priority = of(LAST, rules=Rules(order="priority"))
    assert (by_priority.priority, by_priority.fields["priority"]) == (7, b"7")
    assert orjson.loads(by_priority.fields["opts"])["priority"] == 7
    beyond = of(LAST, rules=Rules(order="priority"), fields={"priority": b"9000000"})
    assert (beyond.priority, len(beyond.notes)) == (2_097_152, 1)


@pytest.mark.parametrize("order", ["keep", "priority"])
def test_a_delayed_job_keeps_its_priority(order):
    delayed = of(LAST, "delayed", rules=Rules(order=order))
    assert (delayed.priority, delayed.fields["priority"]) == (7, b"7")
    assert orjson.loads(delayed.fields["opts"])["priority"] == 7


def test_a_job_without_a_name_gets_the_default():
    assert of(FIRST).fields["name"] == b"__default__"
    assert of(FIRST, rules=Rules(default_name="mail")).fields["name"] == b"mail"
    assert of(LAST, rules=Rules(default_name="mail"), fields={"name": b"__default__"}).fields["name"] == b"mail"
    assert of(LAST, rules=Rules(default_name="mail")).fields["name"] == b"welcome"


def test_failed_attempts_are_counted_in_the_field_of_bullmq():
    fields = of(LAST, fields={"attemptsMade": b"2", "stalledCounter": b"1", "processedOn": b"5"}).fields
    assert (fields["atm"], fields["ats"], fields["stc"], fields["processedOn"]) == (b"2", b"2", b"1", b"5")
    assert not {"attemptsMade", "stalledCounter"} & set(fields)


def test_a_job_whose_worker_died_has_stalled_once_more():
    fields = of(LAST, "active", fields={"processedOn": b"5"}).fields
    assert ("atm" in fields, fields["ats"], fields["stc"]) == (False, b"1", b"1")


def test_a_finished_job_has_its_result():
    completed = of(FIRST, "completed", fields={"returnvalue": b"5"})
    assert (completed.fields["returnvalue"], completed.fields["atm"], completed.finished_on) == (b"5", b"1", NOW)
    failed = of(
        LAST, "failed", fields={"attemptsMade": b"1", "finishedOn": b"77", "stacktrace": b'["TypeError: no\\n at x"]'}
    )
    assert (failed.fields["failedReason"], failed.fields["atm"], failed.finished_on) == (b"no", b"1", 77)
    assert of(LAST, "failed", fields={"failedReason": b"why"}).fields["failedReason"] == b"why"


@pytest.mark.parametrize(("kind", "noted"), [("fixed", False), ("exponential", False), ("jitter", True)])
def test_a_back_off_that_only_the_user_knows_has_a_note(kind, noted):
    job = {**LAST, "opts": orjson.dumps({"backoff": {"type": kind, "delay": 5}})}
    assert [kind in note for note in convert(job, "wait", NOW, Rules()).notes] == [True] * noted


def test_the_delay_of_a_delayed_job_is_its_own_or_the_rest_of_its_backoff():
    assert of(FIRST, "delayed", due=NOW + 500).fields["delay"] == b"500"
    failed = {"attemptsMade": b"1", "timestamp": b"%d" % (NOW - 9000)}
    assert of(LAST, "delayed", due=NOW + 300, fields=failed).fields["delay"] == b"300"


def test_options_that_are_no_json_are_moved_as_they_are():
    broken = of(LAST, fields={"opts": b"{oops"})
    assert broken.fields["opts"] == b"{oops"
    assert "not a JSON object" in broken.notes[0]


def test_values_that_bullmq_parses_are_json():
    assert of(LAST, fields={"progress": b"half"}).fields["progress"] == b'"half"'
    assert of(LAST, fields={"progress": b'{"done":1}'}).fields["progress"] == b'{"done":1}'
    assert of(LAST, "completed", fields={"returnvalue": b"oops"}).fields["returnvalue"] == b'"oops"'


def test_changes_lead_from_one_hash_to_the_other():
    raw = {**FIRST, "own": b"1"}
    converted = of(raw)
    written, deleted = changes(raw, converted)
    kept = {field: value for field, value in raw.items() if field not in deleted}
    assert {**kept, **written} == converted.fields
    assert not {"data", "own", "timestamp"} & {*written, *deleted}


def test_a_limit_of_time_is_noted():
    assert "timeout" in of(LAST, fields={"opts": b'{"timeout":50}'}).notes[0]


def test_the_delays_of_bull_are_kept_by_a_strategy():
    class Job:
        opts = opts_of(LAST, rules=Rules(keep_backoff=True))

    assert Job.opts["backoff"] == {"type": "bull-exponential", "delay": 100}
    delays = [bull_backoff(failures, "bull-exponential", ValueError(), Job()) for failures in (1, 2, 3)]
    assert delays == [100, 300, 700]


def test_numbers_that_redis_cannot_count_become_the_greatest_that_it_can():
    job = of(LAST, fields={"opts": b'{"attempts":1e30}', "attemptsMade": b"1e23"})
    assert orjson.loads(job.fields["opts"])["attempts"] == 2**53 - 1
    assert job.fields["atm"] == b"%d" % (2**53 - 1)


def test_options_that_are_nested_too_deeply_are_moved_as_they_are():
    opts = b'{"a":' * 300 + b"1" + b"}" * 300
    job = of(LAST, fields={"opts": opts})
    assert job.fields["opts"] == opts
    assert "moved as they are" in job.notes[0]


@pytest.mark.parametrize(("score", "due"), [(b"28676", 7), (b"inf", 0), (b"-inf", 0)])
def test_a_score_that_is_no_time_is_not_an_error(score, due):
    assert due_at(score) == due
