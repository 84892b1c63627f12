"""A new repeatable job of Bull 3 and 4: its member of the set ``repeat``, and its first job."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from bullrush.errors import InvalidOptionError
from bullrush.extending import JSON, check_repeat
from bullrush.legacy.new_job import NewLegacyJob
from bullrush.legacy.repeatable import next_time, read_repeatable

#: Options of a job scheduler that Bull does not have.
_UNKNOWN: Final = ("dst", "immediately", "offset", "count")
#: Options of a job that the time of each job decides.
_DECIDED: Final = ("delay", "timestamp", "debounce")


class NewRepeatable(NamedTuple):
    """A new repeatable and its first job.

    Attributes:
        key: the member of the set ``repeat``.
        next: when the first job runs, ms.
        id: the id of the first job.
        job: the first job.
    """

    key: str
    next: int
    id: str
    job: NewLegacyJob


def new_repeatable(job: NewLegacyJob, repeat: object) -> NewRepeatable:
    """Return a new repeatable, with the key, the id and the options that Bull 3 and 4 give it.

    Args:
        job: the job without its times; its custom id becomes that of the repeatable.
        repeat: the options of `LegacyQueue.add`.

    Raises:
        InvalidOptionError: an option has an invalid value, Bull does not have it, or no time is left.
    """
    for name in _DECIDED:
        if name in job.opts:
            raise InvalidOptionError(f"{name} cannot be used with repeat")
    opts = {name: value for name, value in job.opts.items() if name != "jobId"}
    key, own, stored = repeatable_key(job.name, repeat, job.opts.get("jobId"))
    next = next_time(read_repeatable(key, 0), stored, max(job.now, int(stored.get("startDate", 0))))
    if next is None:
        raise InvalidOptionError("repeat has no time at which a job could run: see its limit and its end_date")
    id = f"repeat:{_md5(job.name + own + _md5(key))}:{next}"
    moment: dict[str, JSON] = {"jobId": id, "delay": next - job.now, "timestamp": job.now, "prevMillis": next}
    first = replace(job, opts={"repeat": {"count": 1, "key": key, **stored}, **moment, **opts})
    return NewRepeatable(key, next, id, first)


class RepeatableKey(NamedTuple):
    """How Bull finds a repeatable.

    Attributes:
        key: the member of the set ``repeat``.
        own: the part of the key with the custom id.
        stored: the options, as they are stored.
    """

    key: str
    own: str
    stored: dict[str, JSON]


def repeatable_key(name: str, repeat: object, job_id: str | None) -> RepeatableKey:
    """Return the key that Bull 3 and 4 give to a repeatable.

    Args:
        name: the name of its jobs.
        repeat: the options of `LegacyQueue.add`.
        job_id: its custom id.

    Raises:
        InvalidOptionError: an option has an invalid value, or Bull does not have it.
    """
    stored = _checked(repeat)
    if job_id is not None:
        stored["jobId"] = job_id
    own = f"{job_id or ''}:"
    schedule = f"{stored.get('tz', '')}:{stored['cron']}" if "cron" in stored else str(stored["every"])
    return RepeatableKey(f"{name}:{own}{stored.get('endDate', '')}:{schedule}", own, stored)


def _checked(repeat: object) -> dict[str, JSON]:
    if isinstance(repeat, Mapping):
        if "cron" in repeat:
            raise InvalidOptionError("repeat.cron is called pattern here")
        for name in _UNKNOWN:
            if repeat.get(name) is not None:
                raise InvalidOptionError(f"repeat.{name} cannot be used: Bull does not have it")
    stored = check_repeat(repeat).stored
    if isinstance(repeat, Mapping) and not repeat.get("tz"):
        # As with Bull: with a zone it would be another repeatable, beside the one of a program with Bull.
        stored.pop("tz", None)
    return {"cron" if name == "pattern" else name: value for name, value in stored.items()}


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
