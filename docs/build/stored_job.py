"""What the schemas of a job's hash and of the events are made of."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from bullrush import Job

Schema: TypeAlias = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_NUMBER: Final[Schema] = {"type": "string", "pattern": "^-?[0-9]+$"}
_COUNT: Final[Schema] = {"type": "string", "pattern": "^[0-9]+$"}
_TIME: Final[Schema] = _COUNT


def _json(schema: Schema | bool = True) -> Schema:
    return {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}


_POLICIES: Final = {name: {"type": "boolean"} for name in ("fpof", "cpof", "idof", "rdof")}
_PARENT: Final[Schema] = {
    "type": "object",
    "properties": {"id": {"type": "string"}, "queueKey": {"type": "string"}, **_POLICIES},
    "required": ["id", "queueKey"],
    "additionalProperties": False,
}


_NOT_READ: Final = {"tm": "The trace of the last failed attempt, written by Node with telemetry."}


class Field(NamedTuple):
    """A field of a job's hash.

    Attributes:
        name: its name.
        schema: the schema of its value.
        attribute: the attribute of `Job` that reads it, whose description is also that of the field; "" if none does.
        required: whether every job has it.
    """

    name: str
    schema: Schema
    attribute: str
    required: bool = False

    @property
    def description(self) -> str:
        """What the field means."""
        if not self.attribute:
            return _NOT_READ[self.name]
        text = getattr(Job, self.attribute).__doc__.partition("\n\n")[0]
        return f"{self.attribute}: {' '.join(text.split())}"


FIELDS: Final = [
    Field("name", _TEXT, "name", required=True),
    Field("data", _json(), "data", required=True),
    Field("opts", _json({"$ref": "job-options.json"}), "opts", required=True),
    Field("timestamp", _TIME, "timestamp", required=True),
    Field("delay", _NUMBER, "delay", required=True),
    Field("priority", _COUNT, "priority", required=True),
    Field("parentKey", _TEXT, "parent_key"),
    Field("parent", _json(_PARENT), "parent"),
    Field("rjk", _TEXT, "repeat_job_key"),
    Field("nrjid", _TEXT, "next_repeatable_job_id"),
    Field("deid", _TEXT, "deduplication_id"),
    Field("processedOn", _TIME, "processed_on"),
    Field("finishedOn", _TIME, "finished_on"),
    Field("pb", _TEXT, "processed_by"),
    Field("ats", _COUNT, "attempts_started"),
    Field("atm", _COUNT, "attempts_made"),
    Field("stc", _COUNT, "stalled_counter"),
    Field("defa", _TEXT, "deferred_failure"),
    Field("progress", _json(), "progress"),
    Field("returnvalue", _json(), "returnvalue"),
    Field("failedReason", _TEXT, "failed_reason"),
    Field("tm", _TEXT, ""),
    Field("stacktrace", _json({"type": "array", "items": {"type": "string"}}), "stacktrace"),
]


class Event(NamedTuple):
    """An event of the stream.

    Attributes:
        name: its name.
        description: when it is written.
        fields: the schemas of its fields.
        optional: the fields that it may not have.
    """

    name: str
    description: str
    fields: dict[str, Schema]
    optional: tuple[str, ...] = ()


_JOB: Final = {"jobId": _TEXT}


def _from(*states: str) -> dict[str, Schema]:
    return {"prev": {"enum": list(states), "description": "The state before."}}


_STATES: Final = (
    "wait",
    "paused",
    "delayed",
    "prioritized",
    "active",
    "completed",
    "failed",
    "waiting-children",
    "unknown",
)

EVENTS: Final = [
    Event("added", "A job was added.", {**_JOB, "name": _TEXT}),
    Event(
        "waiting",
        "A job can be taken by a worker. A new job has no prev.",
        {**_JOB, **_from("delayed", "active", "failed", "completed", "waiting-children")},
        ("prev",),
    ),
    Event("delayed", "A job is due later, in ms since 1970.", {**_JOB, "delay": _COUNT}),
    Event("active", "A worker took a job.", {**_JOB, **_from("waiting")}),
    Event("progress", "A job reported its progress.", {**_JOB, "data": _json()}),
    Event("completed", "A job completed.", {**_JOB, "returnvalue": _json(), **_from("active")}),
    Event("failed", "A job failed for good.", {**_JOB, "failedReason": _TEXT, **_from("active")}),
    Event("retries-exhausted", "A job failed for good in its last attempt.", {**_JOB, "attemptsMade": _COUNT}),
    Event("stalled", "A job was taken from a worker that stopped renewing its lock.", _JOB),
    Event(
        "waiting-children",
        "A job waits for its children. A new job has no prev.",
        {**_JOB, **_from("active")},
        ("prev",),
    ),
    Event("removed", "A job was removed.", {**_JOB, **_from(*_STATES)}, ("prev",)),
    Event("duplicated", "A job was not added: its id exists.", _JOB),
    Event(
        "deduplicated",
        "A job was not added: its deduplication id is in use.",
        {**_JOB, "deduplicationId": _TEXT, "deduplicatedJobId": _TEXT},
    ),
    Event(
        "debounced", "Comes before deduplicated, for clients that know its older name.", {**_JOB, "debounceId": _TEXT}
    ),
    Event("drained", "The queue became empty.", {}),
    Event("paused", "The queue was paused.", {}),
    Event("resumed", "The queue was resumed.", {}),
    Event("cleaned", "Queue.clean removed jobs.", {"count": _COUNT}),
]
