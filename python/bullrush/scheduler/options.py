"""The options of a job scheduler: when it makes jobs, and which.

They are checked and turned into BullMQ's stored form.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, TypedDict

from bullrush._core import now_ms
from bullrush.errors import InvalidOptionError
from bullrush.job.option_compiler import JOB_OPTIONS
from bullrush.values import checks
from bullrush.values.checks import Check, Duration
from bullrush.values.encoding import JSON, encode
from bullrush.values.naming import check_known
from bullrush.values.shown import shown

if TYPE_CHECKING:
    from bullrush.job.options import JobOptions

#: A point in time: ms since 1970, a datetime (local time if it has no time zone), or an ISO 8601 text.
Moment: TypeAlias = int | datetime | str

_SECOND: Final = 1000
#: BullMQ reads ids with this many parts as repeatable jobs of the oldest form.
_OLDEST_FORM_PARTS: Final = 5


class RepeatOptions(TypedDict, total=False):
    """When a job scheduler makes jobs: either ``every`` or ``pattern``.

    Attributes:
        every: ms between two jobs, or a timedelta. The first job is due now, or at ``start_date``.
        pattern: a cron pattern with five fields, or six with seconds first; or ``@hourly``, ``@daily``, ``@weekly``,
            ``@monthly``, ``@yearly``.
        tz: the time zone of the pattern, such as ``Europe/Paris``; UTC by default.
        utc: True is ``tz="UTC"``.
        dst: ``"bullmq"``: on a day whose midnight the clock skips, a job of the hour after midnight is left out, as by
            Node. By default it is due at the first instant of that day.
        limit: how many jobs to make in all.
        start_date: no job is due before this time.
        end_date: no job is due after this time.
        immediately: with a pattern, the first job is due now.
        count: how many jobs of ``limit`` count as made already.
        offset: accepted without effect, as in BullMQ 5.62.0: the time of the first job decides.
    """

    every: Duration | None
    pattern: str | None
    tz: str | None
    utc: bool | None
    dst: Literal["bullmq"] | None
    limit: int | None
    start_date: Moment | None
    end_date: Moment | None
    immediately: bool | None
    count: int | None
    offset: Duration | None


class JobTemplate(TypedDict, total=False):
    """The jobs that a scheduler makes.

    Attributes:
        name: the name of the jobs; the scheduler's id by default.
        data: the data of the jobs, any JSON value; ``{}`` by default.
        opts: the options of the jobs, except ``job_id``, ``delay`` and ``parent``.
    """

    name: str
    data: JSON
    opts: JobOptions


class Repeat(NamedTuple):
    """Checked repeat options: the stored JSON, and whether the first job of a pattern is due now."""

    stored: dict[str, JSON]
    immediately: bool

    @property
    def json(self) -> bytes:
        """The stored JSON."""
        return encode(self.stored, "repeat")


def moment(name: str, value: object) -> int:
    """Return a point in time as ms since 1970."""
    if isinstance(value, str):
        value = _parsed(name, value)
    if isinstance(value, datetime):
        return round(value.timestamp() * _SECOND)
    try:
        return checks.whole(name, value)
    except InvalidOptionError:
        raise InvalidOptionError(
            f"{name} must be ms since 1970, a datetime or an ISO 8601 text, not {shown(value)}"
        ) from None


def _parsed(name: str, text: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    except ValueError:
        raise InvalidOptionError(f"{name} is not a date and time of ISO 8601: {text!r}") from None
    # As in JavaScript: a date without a time is UTC, a time without a time zone is local time.
    return parsed if ":" in text else parsed.replace(tzinfo=timezone.utc)


def _clock_changes(name: str, value: object) -> str:
    checks.check_choice(name, value, ("bullmq",))
    return str(value)


#: The name of an option -> its name in the stored JSON, and the check of its value.
STORED_REPEAT: Final[dict[str, tuple[str, Check]]] = {
    "pattern": ("pattern", checks.text),
    "every": ("every", checks.positive_milliseconds),
    "tz": ("tz", checks.text),
    "utc": ("utc", checks.boolean),
    "dst": ("dst", _clock_changes),
    "limit": ("limit", checks.at_least(0)),
    "start_date": ("startDate", moment),
    "end_date": ("endDate", moment),
    "count": ("count", checks.at_least(0)),
}
_NOT_STORED: Final[dict[str, Check]] = {"immediately": checks.boolean, "offset": checks.milliseconds}
_KNOWN: Final = frozenset([*STORED_REPEAT, *_NOT_STORED])
_TEMPLATE: Final = frozenset(["name", "data", "opts"])
_SCHEDULER_SETS: Final = ("job_id", "delay", "repeat", "parent")


def check_repeat(repeat: object) -> Repeat:
    """Return checked repeat options.

    Raises:
        InvalidOptionError: an option is wrong; the message is BullMQ's if it has one.
    """
    if not isinstance(repeat, Mapping):
        raise InvalidOptionError(f"repeat must be a dict of options, not {type(repeat).__qualname__}")
    check_known(repeat, _KNOWN, "repeat")
    given = {name: value for name, value in repeat.items() if value is not None}
    if not given.get("pattern") and not given.get("every"):
        raise InvalidOptionError(
            "Either .pattern or .every options must be defined for this repeatable job: repeat needs 'every' "
            "(milliseconds) or 'pattern' (cron)"
        )
    if "pattern" in given and "every" in given:
        raise InvalidOptionError("Both .pattern and .every options are defined for this repeatable job")
    for name, check in _NOT_STORED.items():
        if name in given:
            check(f"repeat.{name}", given[name])
    if "dst" in given and "every" in given:
        raise InvalidOptionError("repeat.dst is about the days of a pattern: leave it out with 'every'")
    if given.get("immediately") and "start_date" in given:
        raise InvalidOptionError("Both .immediately and .startDate options are defined for this repeatable job")
    stored = {
        wire: check(f"repeat.{name}", given[name]) for name, (wire, check) in STORED_REPEAT.items() if name in given
    }
    now = now_ms()
    if stored.get("endDate", now) < now:
        raise InvalidOptionError("End date must be greater than current timestamp")
    if "pattern" in stored:
        # Without a time zone, each client would use the zone of its own machine.
        stored.setdefault("tz", "UTC")
    return Repeat(stored, given.get("immediately", False))


def check_scheduler_id(scheduler_id: object) -> str:
    """Return the id of a new scheduler.

    Raises:
        InvalidOptionError: BullMQ would read it as a repeatable job of the oldest form.
    """
    if not isinstance(scheduler_id, str) or not scheduler_id:
        raise InvalidOptionError(f"The id of a job scheduler must be a text, not {shown(scheduler_id)}")
    if has_oldest_form(scheduler_id):
        raise InvalidOptionError(
            "The id of a job scheduler can have three colons at most, otherwise BullMQ reads it as an old repeatable "
            f"job: {scheduler_id!r}"
        )
    return scheduler_id


def check_template(template: object) -> JobTemplate:
    """Return a checked template.

    Raises:
        InvalidOptionError: it has unknown members, or options that the scheduler sets.
    """
    if template is None:
        return {}
    if not isinstance(template, Mapping):
        raise InvalidOptionError(f"template must be a dict of name, data and opts, not {type(template).__qualname__}")
    check_known(template, _TEMPLATE, "template", opts=JOB_OPTIONS)
    opts = template.get("opts") or {}
    for name in _SCHEDULER_SETS:
        if isinstance(opts, Mapping) and opts.get(name) is not None:
            raise InvalidOptionError(
                f"template.opts cannot have {name!r}: a job scheduler sets the ids and times of its jobs"
            )
    return template  # type: ignore[return-value]


def has_oldest_form(key: str) -> bool:
    """Tell whether BullMQ reads an id as the oldest form: ``<name>:<job id>:<end date>:<tz>:<pattern>``."""
    return key.count(":") + 1 >= _OLDEST_FORM_PARTS


def repeatable_keys(name: str, repeat: Mapping[str, object], job_id: str | None) -> list[str]:
    """Return the keys that a repeatable job of older versions can have, the newest form first."""
    check_known(repeat, _KNOWN | {"key"}, "repeat_opts")
    given = {option: value for option, value in repeat.items() if value is not None}
    end = moment("end_date", given["end_date"]) if "end_date" in given else ""
    every = checks.positive_milliseconds("every", given["every"]) if "every" in given else ""
    text = f"{name}:{job_id or ''}:{end}:{given.get('tz', '')}:{given.get('pattern') or every}"
    return [str(given["key"])] if "key" in given else [_md5(text), text]


def oldest_stem(key: str) -> str | None:
    """Return the part after ``repeat:`` in the job ids of a repeatable job of the oldest form; None for other keys."""
    if not has_oldest_form(key):
        return None
    name, job_id, *_ = key.split(":")
    return _md5(f"{name}{job_id}{_md5(key)}")


def _md5(text: str) -> str:
    import hashlib  # here, since only repeatable jobs of older versions need it

    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
