"""How a job ended, as each version of Bull writes and publishes it. No call of this file touches Redis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

if TYPE_CHECKING:
    from bullrush.legacy.flavor import Layout

#: Who sends the messages of Bull 2.
_SENDER: Final = "bullrush"


class Ended(NamedTuple):
    """How a job ended in BullMQ.

    Attributes:
        state: ``completed`` or ``failed``.
        value: the result as JSON, or the text of the failure.
        finished_on: when, ms.
        processed_on: when its last attempt started, ms.
        attempts_made: how many attempts it took.
        stacktrace: the stack traces of the failed attempts, a JSON array.
    """

    state: str
    value: bytes
    finished_on: int
    processed_on: bytes | None = None
    attempts_made: bytes | None = None
    stacktrace: bytes | None = None


def as_bull_writes(
    layout: Layout, base: str, *, id: str, end: Ended, keep: tuple[int | str, int | str], job: Mapping[str, bytes]
) -> list[int | str | bytes]:
    """Return the arguments of ``lua/legacy/mirror_job.lua``.

    Args:
        layout: the version of Bull.
        base: the prefix and the name of the queue of Bull.
        id: the job's id there.
        end: how it ended.
        keep: how many finished jobs that queue keeps, and for how many seconds; "" for all and for ever.
        job: its hash there; only for Bull 2.
    """
    failed = end.state == "failed"
    fields: dict[str, bytes] = {}
    if not failed:
        fields["returnvalue"] = end.value
    else:
        fields["attemptsMade"] = end.attempts_made or b"1"
        fields["stacktrace"] = _traces(end)
        if layout != "1":  # Bull 1 has only the stack traces
            fields["failedReason"] = end.value
    if layout in ("3", "4"):
        fields["finishedOn"] = b"%d" % end.finished_on
        if end.processed_on:
            fields["processedOn"] = end.processed_on
    channel, message = "", b""
    if layout == "2":
        # In 2.x the name of a channel has no prefix.
        channel = f"{end.state}@{base.rpartition(':')[2]}"
        message = orjson.dumps([_SENDER, _job_of_bull_2(id, {**job, **fields}), {} if failed else _value(end.value)])
    elif layout != "1":
        channel = f"{base}:{end.state}"
        message = orjson.dumps({"jobId": id, "val": end.value.decode(errors="replace")})
    kind = "set" if layout in ("1", "2") else "zset"
    # Bull 1 keeps all finished jobs.
    count, age = ("", "") if layout == "1" else keep
    flat = [part for field, value in fields.items() for part in (field, value)]
    return [id, end.state, end.finished_on, kind, count, age, channel, message, *flat]


def _traces(end: Ended) -> bytes:
    """Return the stack traces; callers of Bull 1 read the reason from the last one."""
    traces = _value(end.stacktrace or b"[]")
    return end.stacktrace or b"[]" if traces else orjson.dumps([end.value.decode(errors="replace")])


def _job_of_bull_2(id: str, job: Mapping[str, bytes]) -> dict[str, Any]:
    opts = _value(job.get("opts", b"{}"))
    whole = ("progress", "delay", "timestamp", "attempts", "attemptsMade")
    return {
        "id": id,
        "data": _value(job.get("data", b"{}")),
        "opts": {**(opts if isinstance(opts, dict) else {}), "jobId": id},
        **{field: _value(job.get(field, b"0")) for field in whole},
        "failedReason": job.get("failedReason", b"").decode(errors="replace"),
        "stacktrace": _value(job.get("stacktrace", b"[]")),
        "returnvalue": _value(job.get("returnvalue", b"null")),
    }


def _value(stored: bytes) -> Any:
    try:
        return orjson.loads(stored)
    except orjson.JSONDecodeError:
        return None
