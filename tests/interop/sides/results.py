"""Results of steps in one form for all sides: refusals, batches, ids, and jobs in the spelling of Python."""

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Failed:
    """The result of a step that was refused. Our scripts have only codes; the texts are compared at the API."""

    code: int | None
    message: str = ""


@dataclass(frozen=True)
class Batch:
    """The result of finishing many jobs: the codes of those refused, and the ids fetched with them."""

    refused: dict[str, int | None]
    fetched: list[str]


#: Fields of a job that every client shows: name in BullMQ, name in Python. Its parent is left out: for a child removed
#: from its parent, BullMQ still shows the parent of the options.
FIELDS = {
    "id": "id",
    "name": "name",
    "data": "data",
    "progress": "progress",
    "returnvalue": "returnvalue",
    "delay": "delay",
    "priority": "priority",
    "timestamp": "timestamp",
    "attemptsMade": "attempts_made",
    "attemptsStarted": "attempts_started",
    "stalledCounter": "stalled_counter",
    "failedReason": "failed_reason",
    "processedOn": "processed_on",
    "finishedOn": "finished_on",
    "processedBy": "processed_by",
    "deduplicationId": "deduplication_id",
    "repeatJobKey": "repeat_job_key",
}


def snake(name: str) -> str:
    """Spell an option as Python does: ``removeOnFail`` is ``remove_on_fail``."""
    return re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name)


def snaked(value: Any) -> Any:
    """Spell all options of a tree as Python does; data stays as it is."""
    if isinstance(value, list):
        return [snaked(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {snake(name): item if name == "data" else snaked(item) for name, item in value.items()}


#: Fields of which only the presence is compared on real clocks.
MOMENTS = ("timestamp", "processed_on", "finished_on")


def run_log(log: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Spell what a worker run saw as Python does."""
    jobs = {name: [job_fields(job) for job in log[name]] for name in ("runs", "active")}
    outcomes = [[event, job_fields(job), value] for event, job, value in log["outcomes"]]
    progress = [[job_fields(job), value] for job, value in log["progress"]]
    return {**log, **jobs, "outcomes": outcomes, "progress": progress}


def job_fields(job: dict[str, Any]) -> dict[str, Any]:
    fields = {FIELDS[name]: value for name, value in job.items() if name in FIELDS and value is not None}
    moments = {name: True for name in MOMENTS if name in fields}
    if not job.get("returnvalue"):
        # BullMQ does not keep all results that are falsy in JavaScript.
        fields.pop("returnvalue", None)
    return {**fields, **moments, "stacktrace": len(job.get("stacktrace") or [])}


def tree_of(node: Any) -> Any:
    return node if isinstance(node, Failed) else (node["job"]["id"], [tree_of(child) for child in node["children"]])


def id_of(job: Any) -> Any:
    return job["id"] if isinstance(job, dict) else job


def batch_of(results: dict[str, Any]) -> Batch:
    refused = {id: result.code for id, result in results.items() if isinstance(result, Failed)}
    return Batch(refused, [result for result in results.values() if isinstance(result, str)])
