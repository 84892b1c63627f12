"""Options of a job: their names, their checks, and what of them is stored in Redis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict

import orjson

from bullrush.errors import InvalidOptionError, UnknownOptionError
from bullrush.telemetry.protocol import JobTelemetry, check_job_telemetry
from bullrush.values import checks
from bullrush.values.checks import Check, Duration
from bullrush.values.encoding import JSON, NULL
from bullrush.values.naming import check_job_id, check_known

if TYPE_CHECKING:
    from typing_extensions import Required


class BackoffOptions(TypedDict, total=False):
    """How long a failed job waits before its next attempt.

    ``type`` is ``fixed``, ``exponential`` or the name of a custom strategy; ``delay`` in ms; ``jitter`` 0 to 1.
    """

    type: str
    delay: Duration
    jitter: float


class KeepOptions(TypedDict, total=False):
    """Which finished jobs stay: the newest ``count``, and none older than ``age`` seconds."""

    age: int | timedelta
    count: int
    limit: int


class ParentOptions(TypedDict):
    """The job that waits for this one: its ``id``, and its ``queue`` with the prefix, as `Job.queue_qualified_name` has it."""

    id: str
    queue: str


class DeduplicationOptions(TypedDict, total=False):
    """Keeps further jobs of the same ``id`` away while one is there.

    Attributes:
        id: what makes jobs the same.
        ttl: ms after which the id is free again, whatever became of the job; without it, the job's end frees it.
        extend: each job that is kept away starts the ``ttl`` anew.
        replace: a job that is still delayed makes way for the new one.
        keep_last_if_active: while a worker runs the job, the last one kept away is set aside and added when that job ends.
    """

    id: Required[str]
    ttl: Duration | None
    extend: bool | None
    replace: bool | None
    keep_last_if_active: bool | None


class JobOptions(TypedDict, total=False):
    """Options of one job.

    Attributes:
        attempts: how often the job may run in all; 0 and 1 mean once.
        backoff: wait before the next attempt: ms for a fixed one, or `BackoffOptions`.
        continue_parent_on_failure: when this job fails for good, its parent runs at once, whatever its other children do.
        debounce: BullMQ's old name of ``deduplication``.
        deduplication: see `DeduplicationOptions`.
        delay: ms before the job may run; it cannot be due after 2039-09-07T15:47:35.551Z, where BullMQ's scores end.
        fail_parent_on_failure: when this job fails for good, its parent fails, too.
        ignore_dependency_on_failure: when this job fails for good, its parent no longer waits for it and can ask why it failed.
        job_id: the job's own id. A job whose id exists already is not added again.
        keep_logs: how many log rows stay.
        lifo: run before the jobs that wait already.
        parent: the job that waits for this one; see `ParentOptions`.
        priority: 1 is the most urgent, 2,097,152 the least; 0 is none and runs before all of them.
        remove_dependency_on_failure: when this job fails for good, its parent no longer waits for it.
        remove_on_complete: True removes the job, a number keeps the newest so many, a dict also goes by age.
        remove_on_fail: the same for failed jobs.
        size_limit: bytes of JSON that the data may have.
        stack_trace_limit: how many stack traces stay.
        telemetry: the trace that the job belongs to, or ``{"omit_context": True}`` for one of its own.
        timestamp: ms since 1970 to store as the time of the add; now by default.
    """

    attempts: int | None
    backoff: Duration | BackoffOptions | None
    continue_parent_on_failure: bool | None
    debounce: DeduplicationOptions | None
    deduplication: DeduplicationOptions | None
    delay: Duration | None
    fail_parent_on_failure: bool | None
    ignore_dependency_on_failure: bool | None
    job_id: str | None
    keep_logs: int | None
    lifo: bool | None
    parent: ParentOptions | None
    priority: int | None
    remove_dependency_on_failure: bool | None
    remove_on_complete: bool | int | KeepOptions | None
    remove_on_fail: bool | int | KeepOptions | None
    size_limit: int | None
    stack_trace_limit: int | None
    telemetry: JobTelemetry | None
    timestamp: int | None


#: Name here -> name in the stored JSON, and the check of its value.
_STORED: Final[dict[str, tuple[str, Check]]] = {
    "attempts": ("attempts", checks.at_least(0)),
    "backoff": ("backoff", checks.backoff),
    "continue_parent_on_failure": ("cpof", checks.boolean),
    "debounce": ("de", checks.deduplication),
    "deduplication": ("de", checks.deduplication),
    "delay": ("delay", checks.milliseconds),
    "fail_parent_on_failure": ("fpof", checks.boolean),
    "ignore_dependency_on_failure": ("idof", checks.boolean),
    "keep_logs": ("kl", checks.at_least(0)),
    "lifo": ("lifo", checks.boolean),
    "parent": ("parent", checks.parent),
    "priority": ("priority", checks.priority),
    "remove_dependency_on_failure": ("rdof", checks.boolean),
    "remove_on_complete": ("removeOnComplete", checks.keep),
    "remove_on_fail": ("removeOnFail", checks.keep),
    "size_limit": ("sizeLimit", checks.at_least(0)),
    "stack_trace_limit": ("stackTraceLimit", checks.at_least(0)),
    "timestamp": ("timestamp", checks.at_least(0)),
}
_TELEMETRY: Final = {"metadata": "tm", "omit_context": "omc"}
_KNOWN: Final = frozenset([*_STORED, "job_id", "telemetry"])

#: What a child's final failure does to its parent, in the order in which BullMQ names them.
_POLICIES: Final = {
    "rdof": "removeDependencyOnFailure",
    "fpof": "failParentOnFailure",
    "cpof": "continueParentOnFailure",
    "idof": "ignoreDependencyOnFailure",
}

#: Stored name -> name here.
_LONG: Final[dict[str, str]] = {
    "jobId": "job_id",
    **{wire: name for name, (wire, _) in sorted(_STORED.items())},
}
_TELEMETRY_NAMES: Final = {wire: name for name, wire in _TELEMETRY.items()}
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")


class Link(NamedTuple):
    """What a job belongs to, as the core takes it.

    Attributes:
        queue: how the keys of the job's queue begin, with the colon; "" is the queue it is added by.
        made: its id was made for it and is not part of its options.
        is_parent: it waits for children.
        parent: its parent's key, and its field ``parent``.
        deduplication: id, ms or 0, and e, r, k for extend, replace and keep_last_if_active.
    """

    queue: str = ""
    made: bool = False
    is_parent: bool = False
    parent: tuple[str, str] | None = None
    deduplication: tuple[str, int, str] | None = None


class CompiledOptions(NamedTuple):
    """Checked options of any number of jobs, ready to be sent with each."""

    stored: bytes
    timestamp: int
    delay: int
    priority: int
    lifo: bool
    size_limit: int | None
    link: Link | None


class OptionCompiler:
    """Turns options into their stored form, once for all jobs that have the same ones."""

    _CACHED: Final = 256

    def __init__(self, defaults: JobOptions | None = None) -> None:
        """Take a queue's default options, which an add's own ones overrule."""
        self._defaults: dict[str, object] = dict(defaults or {})
        self._cache: dict[bytes, CompiledOptions] = {}
        check_known(self._defaults, _KNOWN, "default_job_options")
        self._compiled_defaults = _compile(self._defaults)

    def default(self, name: str) -> object:
        """Return the default of an option."""
        return self._defaults.get(name)

    def compile(self, options: Mapping[str, object]) -> tuple[CompiledOptions, str | None]:
        """Return the compiled options and the custom job id.

        Raises:
            UnknownOptionError: an option does not exist.
            InvalidOptionError: an option has a value that cannot be used.
        """
        if not options and "job_id" not in self._defaults:
            return self._compiled_defaults, None
        try:
            merged = {**self._defaults, **options}
        except TypeError:
            raise InvalidOptionError(f"opts must be a dict of options, not {options!r}") from None
        job_id = merged.pop("job_id", None)
        key = _cache_key(merged)
        compiled = self._cache.get(key) if key else None
        if compiled is None:
            compiled = _compile(merged)
            if key:
                if len(self._cache) >= self._CACHED:
                    self._cache.clear()
                self._cache[key] = compiled
        return compiled, None if job_id is None else check_job_id(job_id) or None

    def template(self, options: Mapping[str, object]) -> bytes:
        """Return the options of a job scheduler's template as JSON: under their stored names, but only those given.

        Raises:
            UnknownOptionError, InvalidOptionError: see `compile`.
        """
        compiled, _ = self.compile(options)
        given = {**self._defaults, **options}
        stored = orjson.loads(compiled.stored)
        if given.get("attempts") is None:
            del stored["attempts"]
        if "backoff" in stored and not isinstance(given["backoff"], Mapping):
            # BullMQ stores what it is given here, and makes it a rule when a worker takes the job.
            stored["backoff"] = stored["backoff"]["delay"]
        return orjson.dumps(stored)


def _cache_key(options: Mapping[str, object]) -> bytes | None:
    """Return the options as JSON: equal options have equal JSON, and that is quicker to get than checking them again.

    None when the JSON says too little: a null may stand for None or for NaN.
    """
    try:
        key = orjson.dumps(options)
    except TypeError:
        return None
    return None if NULL in key else key


def _compile(options: Mapping[str, object]) -> CompiledOptions:
    if "repeat" in options:
        raise UnknownOptionError("A job has no option 'repeat': use Queue.upsert_job_scheduler()")
    check_known(options, _KNOWN, "add()")
    stored: dict[str, JSON] = {"attempts": 0}
    for name, value in options.items():
        if value is not None and name in _STORED:
            wire, check = _STORED[name]
            checked = check(name, value)
            if name != "debounce" or options.get("deduplication") is None:
                stored[wire] = checked
    if options.get("telemetry") is not None:
        telemetry = check_job_telemetry("telemetry", options["telemetry"])
        stored.update((_TELEMETRY[name], value) for name, value in telemetry.items())
    return CompiledOptions(
        orjson.dumps(stored),
        stored.get("timestamp", 0),
        stored.get("delay", 0),
        stored.get("priority", 0),
        stored.get("lifo", False),
        stored.get("sizeLimit"),
        _link(stored),
    )


def _link(stored: Mapping[str, JSON]) -> Link | None:
    """Return what a job belongs to, None if it is on its own."""
    policies = [wire for wire in _POLICIES if stored.get(wire)]
    if len(policies) > 1:
        together = ", ".join(_POLICIES[wire] for wire in policies)
        raise InvalidOptionError(f"The following options cannot be used together: {together}")
    parent, rule = stored.get("parent"), stored.get("de")
    if parent is None and rule is None:
        return None
    link = Link()
    if parent is not None:
        field = {"id": parent["id"], "queueKey": parent["queue"], **dict.fromkeys(policies, True)}
        link = link._replace(parent=(f"{parent['queue']}:{parent['id']}", orjson.dumps(field).decode()))
    if rule is not None:
        modes = {"extend": "e", "replace": "r", "keepLastIfActive": "k"}
        flags = "".join(flag for name, flag in modes.items() if rule.get(name))
        link = link._replace(deduplication=(rule["id"], max(rule.get("ttl", 0), 0), flags))
    return link


def read_options(stored: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return stored options under their names here. Options that only other clients know come through as they are."""
    options: dict[str, JSON] = {}
    for wire, value in stored.items():
        if wire in _TELEMETRY_NAMES:
            options.setdefault("telemetry", {})[_TELEMETRY_NAMES[wire]] = value
        else:
            name = _LONG.get(wire) or _CAPITAL.sub("_", wire).lower()
            options[name] = {_snake(key): member for key, member in value.items()} if isinstance(value, dict) else value
    return options


def _snake(name: str) -> str:
    return _CAPITAL.sub("_", name).lower()


class NewJob(TypedDict, total=False):
    """One job of `Queue.add_bulk`."""

    name: Required[str]
    data: JSON
    opts: JobOptions
