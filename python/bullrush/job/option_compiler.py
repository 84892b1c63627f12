"""Checking the options of jobs, and compiling them to the form that is stored in Redis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

import orjson

from bullrush.errors import InvalidOptionError
from bullrush.job.options import JobOptions
from bullrush.telemetry.protocol import check_job_telemetry
from bullrush.values import checks
from bullrush.values.checks import Check
from bullrush.values.encoding import JSON, NULL
from bullrush.values.naming import check_job_id, check_known

#: The name of an option -> its name in the stored JSON, and the check of its value.
STORED_OPTIONS: Final[dict[str, tuple[str, Check]]] = {
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
    "wake": ("wake", checks.boolean),
}
_TELEMETRY: Final = {"metadata": "tm", "omit_context": "omc"}
JOB_OPTIONS: Final = frozenset([*STORED_OPTIONS, "job_id", "target", "telemetry"])

#: The options for the failure of a child, in the order in which BullMQ's error names them.
_POLICIES: Final = {
    "rdof": "removeDependencyOnFailure",
    "fpof": "failParentOnFailure",
    "cpof": "continueParentOnFailure",
    "idof": "ignoreDependencyOnFailure",
}

#: Stored name -> name of the option.
_OPTION_OF_STORED: Final[dict[str, str]] = {
    "jobId": "job_id",
    **{wire: name for name, (wire, _) in sorted(STORED_OPTIONS.items())},
}
_TELEMETRY_NAMES: Final = {wire: name for name, wire in _TELEMETRY.items()}
_CAPITAL: Final = re.compile(r"(?<!^)(?=[A-Z])")


class Parent(NamedTuple):
    """The key of a job's parent, and the value of the job's field ``parent``."""

    key: str
    json: str


class Deduplication(NamedTuple):
    """The id, the ttl in ms or 0, and letters: e, r, k, s for extend, replace, keep_last_if_active, reschedule."""

    id: str
    ttl: int
    flags: str


class Relations(NamedTuple):
    """What the options of a job say about its parent and its deduplication."""

    parent: Parent | None
    deduplication: Deduplication | None


class CompiledOptions(NamedTuple):
    """Checked options in the form that is sent, the same for any number of jobs.

    Attributes:
        size_limit: the most bytes of the data: the option of the job, or the limit of its queue.
    """

    stored: bytes
    timestamp: int
    delay: int
    priority: int
    lifo: bool
    size_limit: int | None
    relations: Relations | None


def check_job_options(_name: str, value: object) -> object:
    """Return options of jobs as they are: `OptionCompiler` checks them."""
    return value


class OptionCompiler:
    """Checks options and turns them into their stored form. Equal options are compiled once."""

    _MAX_CACHED: Final = 256

    def __init__(self, defaults: JobOptions | None = None, payload_limit: int | None = checks.PAYLOAD_LIMIT) -> None:
        """Take a queue's default options and its limit of data in bytes; the options of a job take precedence."""
        self._payload_limit = payload_limit
        self._defaults: dict[str, object] = dict(defaults or {})
        self._cache: dict[bytes, CompiledOptions] = {}
        check_known(self._defaults, JOB_OPTIONS, "default_job_options")
        if self._defaults.get("target") is not None:
            raise InvalidOptionError("default_job_options cannot have a target: use Queue(...).route(target) instead")
        self._compiled_defaults = _compile(self._defaults, payload_limit)

    def default(self, name: str) -> object:
        """Return the default of an option, None if it has none."""
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
            raise InvalidOptionError(f"opts must be a dict of options, not {type(options).__qualname__}") from None
        job_id = merged.pop("job_id", None)
        key = _cache_key(merged)
        compiled = self._cache.get(key) if key else None
        if compiled is None:
            compiled = _compile(merged, self._payload_limit)
            if key:
                if len(self._cache) >= self._MAX_CACHED:
                    self._cache.clear()
                self._cache[key] = compiled
        return compiled, None if job_id is None else check_job_id(job_id) or None

    def template(self, options: Mapping[str, object]) -> bytes:
        """Return the options of a job scheduler's template as JSON, under their stored names.

        Only options that were given are in it.

        Raises:
            UnknownOptionError, InvalidOptionError: see `compile`.
        """
        compiled, _ = self.compile(options)
        given = {**self._defaults, **options}
        stored = orjson.loads(compiled.stored)
        if given.get("attempts") is None:
            del stored["attempts"]
        if "backoff" in stored and not isinstance(given["backoff"], Mapping):
            # BullMQ stores a number here as it is, and converts it when a worker takes the job.
            stored["backoff"] = stored["backoff"]["delay"]
        return orjson.dumps(stored)


def _cache_key(options: Mapping[str, object]) -> bytes | None:
    """Return the options as JSON, since equal options have equal JSON, and encoding is faster than checking.

    None if the JSON is ambiguous: a null may stand for None or for NaN.
    """
    try:
        key = orjson.dumps(options)
    except TypeError:
        return None
    return None if NULL in key else key


def _compile(options: Mapping[str, object], payload_limit: int | None) -> CompiledOptions:
    check_known(options, JOB_OPTIONS, "add()")
    if options.get("target") is not None:
        raise InvalidOptionError("target cannot be given here: use the queue of that target, Queue(...).route(target)")
    stored: dict[str, JSON] = {"attempts": 0}
    for name, value in options.items():
        if value is not None and name in STORED_OPTIONS:
            wire, check = STORED_OPTIONS[name]
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
        stored.get("sizeLimit", payload_limit),
        _relations(stored),
    )


def _relations(stored: Mapping[str, JSON]) -> Relations | None:
    """Return the relations of a job, None if it has no parent and no deduplication id."""
    policies = [wire for wire in _POLICIES if stored.get(wire)]
    if len(policies) > 1:
        together = ", ".join(_POLICIES[wire] for wire in policies)
        raise InvalidOptionError(f"The following options cannot be used together: {together}")
    given, rule = stored.get("parent"), stored.get("de")
    if given is None and rule is None:
        return None
    parent = deduplication = None
    if given is not None:
        field = {"id": given["id"], "queueKey": given["queue"], **dict.fromkeys(policies, True)}
        parent = Parent(f"{given['queue']}:{given['id']}", orjson.dumps(field).decode())
    if rule is not None:
        modes = {"extend": "e", "replace": "r", "keepLastIfActive": "k", "reschedule": "s"}
        flags = "".join(flag for name, flag in modes.items() if rule.get(name))
        deduplication = Deduplication(rule["id"], max(rule.get("ttl", 0), 0), flags)
    return Relations(parent, deduplication)


def read_options(stored: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return stored options under the names of `JobOptions`. Options that only other clients know are kept."""
    options: dict[str, JSON] = {}
    for wire, value in stored.items():
        if wire in _TELEMETRY_NAMES:
            options.setdefault("telemetry", {})[_TELEMETRY_NAMES[wire]] = value
        else:
            name = _OPTION_OF_STORED.get(wire) or _snake(wire)
            options[name] = {_snake(key): member for key, member in value.items()} if isinstance(value, dict) else value
    return options


def _snake(name: str) -> str:
    return _CAPITAL.sub("_", name).lower()
