"""The failed jobs of a queue, grouped: which of them are one failure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bullrush.base.operation import reply
from bullrush.inspection.fingerprint import Fingerprint, fingerprint
from bullrush.job.failure import error_type, last_stack
from bullrush.job.fields import JobFields
from bullrush.values.encoding import read_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bullrush._core import CoreQueue

#: So many are read in a round trip: their stack traces may be long.
_PAGE: Final = 250
_FIELDS: Final = ("name", "failedReason", "stacktrace", "finishedOn")


@dataclass
class FailureGroup:
    """Failed jobs with one cause. Times are in ms since 1970.

    Attributes:
        id: the fingerprint; it is the same in each program and at each time.
        label: the error with its values left out, and where it came from.
        error: the type of the error; "" if it is not known.
        place: the function of the user that it came from, with its file; "" if it is not known.
        first: when the first one of these jobs failed.
        last: when the last one failed.
        names: how many jobs there are of each name, the most frequent one first.
        job_ids: the ids of the jobs, those that failed last first.
        times: when each of these failed; None where that is not known.
    """

    id: str
    label: str
    error: str
    place: str
    first: int | None = None
    last: int | None = None
    names: dict[str, int] = field(default_factory=dict)
    job_ids: list[str] = field(default_factory=list)
    times: list[int | None] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many jobs there are."""
        return len(self.job_ids)

    def _take(self, job_id: str, name: str, at: int | None) -> None:
        self.job_ids.append(job_id)
        self.times.append(at)
        self.names[name] = self.names.get(name, 0) + 1
        if at is not None:
            self.first = at if self.first is None else min(self.first, at)
            self.last = at if self.last is None else max(self.last, at)


async def failure_groups(core: CoreQueue, newest: int) -> list[FailureGroup]:
    """Group the failed jobs that are kept by their cause, the largest group first; awaited inside an operation.

    Args:
        core: the compiled side of the queue.
        newest: how many failed jobs are looked at, those that failed last.
    """
    ids = await reply(core.get_ranges(["failed"], 0, newest - 1, False))
    groups: dict[str, FailureGroup] = {}
    for at in range(0, len(ids), _PAGE):
        page = ids[at : at + _PAGE]
        for job_id, fields in zip(page, await reply(core.job_fields(page, _FIELDS)), strict=True):
            _add(groups, job_id, fields)
    for group in groups.values():
        group.names = dict(Counter(group.names).most_common())
    return sorted(groups.values(), key=lambda group: (-group.count, group.id))


def failure_of(job: JobFields) -> str | None:
    """Return the id of the group that a job belongs to; None if none of its attempts has failed."""
    if job.failed_reason is None:
        return None
    last = job.stacktrace[-1] if job.stacktrace else ""
    # Other programs may have put anything there.
    return fingerprint(job.failed_reason, last if isinstance(last, str) else "").id


def error_type_of(job: JobFields) -> str | None:
    """Return the name of the class of the error that a job failed with last; None if it is not one of Python."""
    last = job.stacktrace[-1] if job.stacktrace else ""
    return error_type(last) if isinstance(last, str) else None


def _add(groups: dict[str, FailureGroup], job_id: str, fields: Sequence[bytes | None]) -> None:
    """Put a failed job into its group. One that was removed meanwhile is left out."""
    name, reason, stack, at = fields
    if reason is None and at is None:
        return
    found = fingerprint(_text(reason), last_stack(stack))
    group = groups.setdefault(found.id, _group(found))
    ended = read_number(at)
    group._take(job_id, _text(name), None if ended is None else int(ended))


def _group(found: Fingerprint) -> FailureGroup:
    return FailureGroup(found.id, found.label, found.error, found.place)


def _text(raw: bytes | None) -> str:
    return "" if raw is None else raw.decode(errors="replace")
