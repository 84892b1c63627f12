"""What the reads of `CoreQueue` return."""

from typing import Literal, TypeAlias, TypedDict

ChildKind: TypeAlias = Literal["processed", "unprocessed", "ignored", "failed"]
#: The key of a child, and its result (JSON) or the reason of its failure.
Child: TypeAlias = tuple[str, bytes | None]
#: A field of a hash.
Field: TypeAlias = tuple[str, bytes]
#: The id of a scheduler, when its latest job is due, the fields of its hash.
Scheduler: TypeAlias = tuple[str, float, list[tuple[str, str]]]
#: A queue, and the fields of CLIENT LIST of a connection to it.
Connection: TypeAlias = tuple[str, list[tuple[str, str]]]

#: A field of a job or the way to a value in its data, and what it must be: texts between stars, or a side and a bound.
Condition: TypeAlias = tuple[str | list[str], list[str] | tuple[Literal[">", "<"], float]]

class FoundUsage(TypedDict):
    """How much of a limit is used; `settings` is JSON, None if nobody has set it."""

    settings: str | None
    held_ms: int
    holders: int
    used: list[int]

class FoundJobs(TypedDict):
    """See `bullrush.inspection.search.Searched`."""

    ids: list[str]
    looked_at: int
    total: int
    too_long: int
    after: tuple[int, list[str], int] | None

class DueWork(TypedDict):
    """The fields of `bullrush.base.due.DueWork`."""

    paused: bool
    limited: bool
    limited_by_workers: bool
    slots: int | None
    rate: tuple[int, int] | None
    period_left: int | None
    rate_reached: bool
    active: int
    abandoned: bool
    waiting: int
    oldest_id: str | None
    oldest_age: int | None
    last_start_age: int | None

class Overview(TypedDict):
    """The fields of `bullrush.inspection.overview.Overview`."""

    active: int
    delayed: int
    waiting_children: int
    completed: int
    failed: int
    failed_lately: int
    work: DueWork

class Place(TypedDict):
    """The fields of `bullrush.inspection.place.Place`."""

    now: int
    state: str | None
    ahead: int | None
    due: int | None
    lock_ttl: int | None
    open_children: int

class MetricsMeta(TypedDict):
    """See `bullrush.queue.monitoring.MetricsMeta`."""

    count: int
    prev_ts: int
    prev_count: int

class Metrics(TypedDict):
    """See `bullrush.queue.monitoring.Metrics`."""

    meta: MetricsMeta
    data: list[int]
    count: int
