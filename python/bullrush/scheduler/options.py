"""When a job scheduler makes jobs, and which: the options as callers give them, checked, and as BullMQ stores them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypedDict

from bullrush._core import now_ms
from bullrush.errors import InvalidOptionError
from bullrush.values import checks
from bullrush.values.checks import Check, Duration
from bullrush.values.encoding import JSON
from bullrush.values.naming import check_known

if TYPE_CHECKING:
    from bullrush.job.options import JobOptions

#: A moment: ms since 1970, a datetime (without a time zone it is local time), or an ISO 8601 text.
Moment: TypeAlias = "int | datetime | str"

_SECOND: Final = 1000
#: Ids with so many parts are taken for repeatables of the oldest form.
_OLDEST_FORM_PARTS: Final = 5


class RepeatOptions(TypedDict, total=False):
    """When a job scheduler makes jobs: either ``every`` or ``pattern``.

    Attributes:
        every: ms from one job to the next, or a timedelta. The first job is made for now, or for ``start_date``.
        pattern: a cron pattern of five fields, or six with seconds in front; or ``@hourly``, ``@daily``, ``@weekly``, ``@monthly``,
            ``@yearly``.
        tz: the time zone of the pattern, such as ``Europe/Paris``; UTC if it is not given.
        utc: True is ``tz="UTC"``.
        limit: how many jobs to make.
        start_date: make none for before this moment.
        end_date: make none for after this moment.
        immediately: with a pattern, make the first job for now.
        count: how many of ``limit`` are taken to be made already.
        offset: accepted and without effect, as in BullMQ 5.62.0: the first job's time decides.
    """

    every: Duration | None
    pattern: str | None
    tz: str | None
    utc: bool | None
    limit: int | None
    start_date: Moment | None
    end_date: Moment | None
    immediately: bool | None
    count: int | None
    offset: Duration | None


class JobTemplate(TypedDict, total=False):
    """The jobs that a scheduler makes.

    Attributes:
        name: their name; by default the scheduler's id.
        data: their data, any JSON value; by default ``{}``.
        opts: their options. Times and ids are the scheduler's.
    """

    name: str
    data: JSON
    opts: JobOptions


class Repeat(NamedTuple):
    """Checked repeat options: what is stored, and whether the first job of a pattern is for now."""

    stored: dict[str, JSON]
    immediately: bool


def moment(name: str, value: object) -> int:
    """Return a moment in ms since 1970."""
    if isinstance(value, str):
        value = _parsed(name, value)
    if isinstance(value, datetime):
        return round(value.timestamp() * _SECOND)
    try:
        return checks.whole(name, value)
    except InvalidOptionError:
        raise InvalidOptionError(
            f"{name} must be ms since 1970, a datetime or an ISO 8601 text, not {value!r}"
        ) from None


def _parsed(name: str, text: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    except ValueError:
        raise InvalidOptionError(f"{name} is not a date and time of ISO 8601: {text!r}") from None
    # As JavaScript reads them: a date alone is of UTC, a time without a zone is local.
    return parsed if ":" in text else parsed.replace(tzinfo=timezone.utc)


#: Name here -> name in the stored JSON, and the check of its value.
_STORED: Final[dict[str, tuple[str, Check]]] = {
    "pattern": ("pattern", checks.text),
    "every": ("every", checks.positive_milliseconds),
    "tz": ("tz", checks.text),
    "utc": ("utc", checks.boolean),
    "limit": ("limit", checks.at_least(0)),
    "start_date": ("startDate", moment),
    "end_date": ("endDate", moment),
    "count": ("count", checks.at_least(0)),
}
_NOT_STORED: Final[dict[str, Check]] = {"immediately": checks.boolean, "offset": checks.milliseconds}
_KNOWN: Final = frozenset([*_STORED, *_NOT_STORED])
_TEMPLATE: Final = frozenset(["name", "data", "opts"])
_NOT_THE_TEMPLATES: Final = ("job_id", "delay", "repeat", "parent")


def check_repeat(repeat: object) -> Repeat:
    """Return checked repeat options.

    Raises:
        InvalidOptionError: with BullMQ's message where it has one.
    """
    if not isinstance(repeat, Mapping):
        raise InvalidOptionError(f"repeat must be a dict of options, not {repeat!r}")
    check_known(repeat, _KNOWN, "repeat")
    given = {name: value for name, value in repeat.items() if value is not None}
    if not given.get("pattern") and not given.get("every"):
        raise InvalidOptionError("Either .pattern or .every options must be defined for this repeatable job")
    if "pattern" in given and "every" in given:
        raise InvalidOptionError("Both .pattern and .every options are defined for this repeatable job")
    for name, check in _NOT_STORED.items():
        if name in given:
            check(f"repeat.{name}", given[name])
    if given.get("immediately") and "start_date" in given:
        raise InvalidOptionError("Both .immediately and .startDate options are defined for this repeatable job")
    stored = {wire: check(f"repeat.{name}", given[name]) for name, (wire, check) in _STORED.items() if name in given}
    now = now_ms()
    if stored.get("endDate", now) < now:
        raise InvalidOptionError("End date must be greater than current timestamp")
    if "pattern" in stored:
        # Without one, each client would take the zone of its own machine.
        stored.setdefault("tz", "UTC")
    return Repeat(stored, given.get("immediately", False))


def check_scheduler_id(scheduler_id: object) -> str:
    """Return the id of a scheduler to create.

    Raises:
        InvalidOptionError: BullMQ would take it for something else.
    """
    if not isinstance(scheduler_id, str) or not scheduler_id:
        raise InvalidOptionError(f"The id of a job scheduler must be a text, not {scheduler_id!r}")
    if has_oldest_form(scheduler_id):
        raise InvalidOptionError(
            f"The id of a job scheduler can have three colons at most, or BullMQ takes it for an old repeatable: {scheduler_id!r}"
        )
    return scheduler_id


def check_template(template: object) -> JobTemplate:
    """Return a template whose members are known.

    Raises:
        InvalidOptionError: it has others, or options that are the scheduler's to set.
    """
    if template is None:
        return {}
    if not isinstance(template, Mapping):
        raise InvalidOptionError(f"template must be a dict of name, data and opts, not {template!r}")
    check_known(template, _TEMPLATE, "template")
    opts = template.get("opts") or {}
    for name in _NOT_THE_TEMPLATES:
        if isinstance(opts, Mapping) and opts.get(name) is not None:
            raise InvalidOptionError(
                f"template.opts cannot have {name!r}: a job scheduler sets the ids and times of its jobs"
            )
    return template  # type: ignore[return-value]


def has_oldest_form(key: str) -> bool:
    """Tell whether BullMQ reads a scheduler's id as ``<name>:<job id>:<end date>:<tz>:<pattern>``."""
    return key.count(":") + 1 >= _OLDEST_FORM_PARTS


def repeatable_keys(name: str, repeat: Mapping[str, object], job_id: str | None) -> list[str]:
    """Return the keys that an old repeatable can have, the newest form first."""
    check_known(repeat, _KNOWN | {"key"}, "repeat_opts")
    given = {option: value for option, value in repeat.items() if value is not None}
    end = moment("end_date", given["end_date"]) if "end_date" in given else ""
    every = checks.positive_milliseconds("every", given["every"]) if "every" in given else ""
    text = f"{name}:{job_id or ''}:{end}:{given.get('tz', '')}:{given.get('pattern') or every}"
    return [str(given["key"])] if "key" in given else [_md5(text), text]


def oldest_stem(key: str) -> str | None:
    """Return how ids of jobs of an old repeatable go on after ``repeat:``; None if as those of every scheduler."""
    if not has_oldest_form(key):
        return None
    name, job_id, *_ = key.split(":")
    return _md5(f"{name}{job_id}{_md5(key)}")


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
