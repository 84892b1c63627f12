"""The published JSON schemas are those of the code, are valid, and refuse what BullMQ does not write."""

import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bullrush.events.event import _DECODED
from docs.build import schemas
from docs.build.stored_job import EVENTS, FIELDS
from tests.schemas import problems, validator

ROOT = Path(__file__).parents[2]
JOB = {"name": "n", "data": "{}", "opts": '{"attempts":0}', "timestamp": "1", "delay": "0", "priority": "0"}


def test_the_files_are_what_make_schemas_writes() -> None:
    found = {path.name: path.read_text() for path in schemas.FOLDER.iterdir()}
    assert found == schemas.texts(), "run make schemas"


@pytest.mark.parametrize("name", ["job.json", "job-options.json", "event.json"])
def test_a_schema_is_valid(name: str) -> None:
    Draft202012Validator.check_schema(validator(name).schema)


def test_the_schema_has_every_field_that_a_job_object_reads() -> None:
    source = (ROOT / "python" / "bullrush" / "job" / "fields.py").read_text()
    read = set(re.findall(r'self\._(?:field|number|text|json)\("(\w+)"\)', source))
    # A field of versions before BullMQ 5, which nobody writes any more.
    assert read - {"attemptsMade"} <= {one.name for one in FIELDS}
    assert len(read) > 15


def test_the_schema_has_every_event_that_a_script_writes_and_its_fields() -> None:
    scripts = "".join(script.read_text() for script in (ROOT / "lua").rglob("*.lua"))
    assert set(re.findall(r"'event', '([a-z-]+)'", scripts)) <= {one.name for one in EVENTS}
    fields = {one.name: one.fields for one in EVENTS}
    for event, decoded in _DECODED.items():
        assert decoded.keys() <= fields[event].keys()


@pytest.mark.parametrize(
    "change",
    [
        {"unknown": "1"},
        {"timestamp": "soon"},
        {"timestamp": "1.5"},
        {"data": "{"},
        {"opts": "[]"},
        {"opts": '{"attempts":0,"unknown":1}'},
        {"opts": '{"attempts":"3"}'},
        {"opts": '{"backoff":{"delay":1000}}'},
        {"opts": '{"priority":2097153}'},
        {"opts": '{"de":{"ttl":5}}'},
        {"opts": '{"keepLogs":5}'},
        {"parent": '{"id":"1"}'},
        {"stacktrace": '["a",1]'},
        {"stacktrace": "Error"},
    ],
    ids=str,
)
def test_a_wrong_job_is_refused(change: dict[str, str]) -> None:
    assert problems("job.json", JOB) == []
    assert problems("job.json", {**JOB, **change}) != []


@pytest.mark.parametrize("name", [one.name for one in FIELDS if one.required])
def test_a_job_without_a_field_that_every_job_has_is_refused(name: str) -> None:
    assert problems("job.json", {field: text for field, text in JOB.items() if field != name}) != []


@pytest.mark.parametrize(
    "event",
    [
        {"event": "completed", "jobId": "1"},
        {"event": "completed", "jobId": "1", "returnvalue": "{", "prev": "active"},
        {"event": "completed", "returnvalue": "1", "prev": "active"},
        {"event": "waiting", "jobId": "1", "prev": "elsewhere"},
        {"event": "delayed", "jobId": "1", "delay": "soon"},
        {"event": "paused", "jobId": "1"},
        {"event": "unheard-of", "jobId": "1"},
    ],
    ids=str,
)
def test_a_wrong_event_is_refused(event: dict[str, str]) -> None:
    assert problems("event.json", event) != []
    assert problems("event.json", {"event": "waiting", "jobId": "1", "prev": "active"}) == []
