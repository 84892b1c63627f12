"""Writes the tables of the page about configuration from the package: ``make configuration``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from bullrush import Tasks
from bullrush.events.producer import QueueEventsProducerOptions
from bullrush.events.queue_events import QueueEventsOptions
from bullrush.flow.producer import FlowOptions
from bullrush.job.calls.changes import DEFAULT_KEPT_LOGS
from bullrush.job.option_compiler import _TELEMETRY, STORED_OPTIONS
from bullrush.job.options import BackoffOptions, DeduplicationOptions, JobOptions, KeepOptions, ParentOptions
from bullrush.queue.queue import QueueOptions
from bullrush.routing import Profile, Target
from bullrush.scheduler.options import JobTemplate, RepeatOptions
from bullrush.scheduler.scheduler import SchedulerOptions
from bullrush.tasks import TaskOptions
from bullrush.telemetry.protocol import JobTelemetry
from bullrush.values.naming import camel
from bullrush.values.options import declared
from bullrush.worker.options import LimiterOptions, MetricsOptions, WorkerOptions
from docs.build.typed_dicts import Member, descriptions, members

PAGE: Final = Path(__file__).parents[1] / "configuration.md"
_TABLE: Final = re.compile(r"(<!-- options: (\w+) -->\n\n).*?(\n<!-- end -->)", re.DOTALL)
#: The pages of the reference with classes that have no table here.
_REFERENCE: Final = {"BackoffStrategy": "reference/worker.md"}


class Words(str):
    """A default that is described."""

    __slots__ = ()


_URL: Final = Words("the environment")
_ALWAYS: Final = {"attempts": 0, "delay": 0, "priority": 0, "lifo": False}
_POLICIES: Final = dict.fromkeys([name for name in STORED_OPTIONS if name.endswith("_on_failure")], False)
_KEEP: Final = dict.fromkeys(["remove_on_complete", "remove_on_fail"], False)

_TYPES: Final = {"Duration": "int, timedelta", "Moment": "int, datetime, str"}
_UNITS: Final = {
    "Duration": "ms",
    "Moment": "ms since 1970",
    "timestamp": "ms since 1970",
    "age": "seconds",
    "size_limit": "bytes",
    "payload_limit": "bytes",
    "every": "ms",
}


class Options(NamedTuple):
    """The options of one table.

    Attributes:
        members: the options.
        defaults: the defaults by name; others have none.
        ours: the names that BullMQ does not have; None: all.
        renamed: the names in BullMQ that are not the same in camelCase.
        units: the units that neither the name nor the type shows.
    """

    members: list[Member]
    defaults: Mapping[str, Any] = {}
    ours: frozenset[str] | None = frozenset()
    renamed: Mapping[str, str] = {}
    units: Mapping[str, str] = {}


def _of(typed_dict: Any, defaults: Mapping[str, Any] | None = None, ours: str | None = "") -> Options:
    return Options(members(typed_dict), defaults or {}, None if ours is None else frozenset(ours.split()))


def _declared(options: type) -> Options:
    """Return options whose lines have all of it."""
    known = declared(options)
    return Options(
        members(options),
        {name: Words(one.shown) if one.shown else one.default for name, one in known.items()},
        frozenset(name for name, one in known.items() if one.bullmq is None),
        {name: one.bullmq for name, one in known.items() if one.bullmq},
        {name: one.unit for name, one in known.items() if one.unit},
    )


def _tasks() -> Options:
    """Return the arguments of `Tasks`."""
    described = descriptions(Tasks.__init__)
    given = list(inspect.signature(Tasks).parameters.values())
    return Options(
        [Member(one.name, one.annotation, described[one.name], one.default is one.empty) for one in given],
        {one.name: one.default for one in given if one.name not in {"url", "codec"}} | {"url": _URL},
        None,
    )


def tables() -> dict[str, Options]:
    """Return the options of each table by its name on the page."""
    jobs = {**_ALWAYS, **_POLICIES, **_KEEP, "keep_logs": DEFAULT_KEPT_LOGS, "timestamp": Words("now")}
    return {
        "QueueOptions": _declared(QueueOptions),
        "JobOptions": _of(JobOptions, jobs | {"stack_trace_limit": Words("all"), "wake": False}, "target wake"),
        "Target": _of(Target, {"mode": "all", "fallback": "base"}, None),
        "Profile": _of(Profile, ours=None),
        "BackoffOptions": _of(BackoffOptions, {"delay": 0, "jitter": 0}),
        "KeepOptions": _of(KeepOptions),
        "DeduplicationOptions": _of(DeduplicationOptions),
        "ParentOptions": _of(ParentOptions),
        "JobTelemetry": _of(JobTelemetry),
        "WorkerOptions": _declared(WorkerOptions),
        "LimiterOptions": _of(LimiterOptions),
        "MetricsOptions": _of(MetricsOptions),
        "QueueEventsOptions": _declared(QueueEventsOptions),
        "QueueEventsProducerOptions": _declared(QueueEventsProducerOptions),
        "FlowOptions": _declared(FlowOptions),
        "SchedulerOptions": _declared(SchedulerOptions),
        "RepeatOptions": _of(RepeatOptions, {"tz": "UTC", "immediately": False, "count": 0}, "dst"),
        "JobTemplate": _of(JobTemplate),
        "Tasks": _tasks(),
        "TaskOptions": Options(members(TaskOptions, JobOptions), ours=None),
    }


def page(text: str) -> str:
    """Return the text of the page with all tables as they should be.

    Raises:
        KeyError: it names a table that does not exist.
    """
    found = tables()
    return _TABLE.sub(lambda match: match[1] + _table(match[2], found[match[2]]) + match[3], text)


def _table(name: str, options: Options) -> str:
    rows = [
        (
            f"`{one.name}`",
            _type(one.type),
            _unit(one, options.units),
            "required" if one.required else _default(options.defaults.get(one.name)),
            bullmq_name(name, one.name, options),
            _linked(_escaped(_sentence(one.description))),
        )
        for one in options.members
    ]
    lines = [("option", "type", "unit", "default", "BullMQ", "meaning"), *rows]
    head, *body = [f"| {' | '.join(line)} |\n" for line in lines]
    return "".join([head, "|-|-|-|-|-|-|\n", *body])


def bullmq_name(table: str, name: str, options: Options) -> str:
    """Return BullMQ's name of an option, with the one in the stored JSON if that is another; "-" for ours."""
    if options.ours is None or name in options.ours:
        return "-"
    theirs = options.renamed.get(name, camel(name))
    stored: dict[str, Any] = {
        "JobOptions": STORED_OPTIONS,
        "JobTelemetry": {key: (wire,) for key, wire in _TELEMETRY.items()},
    }
    wire = stored.get(table, {}).get(name, (theirs,))[0]
    return f"`{theirs}`" if wire == theirs else f"`{theirs}`, stored as `{wire}`"


def _type(written: str) -> str:
    if written.startswith("Literal"):
        return ", ".join(f"`{word}`" for word in re.findall(r"['\"](\w+)['\"]", written))
    parts = [part for part in written.split(" | ") if part != "None"]
    return _escaped(", ".join(_TYPES.get(part, part.partition("[")[0]) for part in parts))


def _unit(one: Member, units: Mapping[str, str]) -> str:
    kinds = one.type.split(" | ")
    return units.get(one.name) or next((_UNITS[word] for word in (one.name, *kinds) if word in _UNITS), "-")


def _default(value: Any) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, Words):
        return value
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"`{value}`"


def _sentence(text: str) -> str:
    """Return a description in Markdown: docstrings have two backticks around code."""
    plain = re.sub("^ms ", "Milliseconds ", text.replace("``", "`")).rstrip(".")
    return plain[:1].upper() + plain[1:]


def _linked(text: str) -> str:
    """Return a text whose classes, but for those with a table on the page, lead to the reference."""
    for name, page in _REFERENCE.items():
        text = text.replace(f"see `{name}`", f"see [`{name}`]({page})")
    return text


def _escaped(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
