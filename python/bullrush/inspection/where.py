"""Which jobs are meant, as people write it: ``name:welcome* data.user.id:17 failed>1h attempt>2``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from bullrush._core import fits, now_ms
from bullrush.errors import InvalidOptionError
from bullrush.values.naming import nearest
from bullrush.values.shown import shown

#: A field of the job, ``id``; or the names that lead to a value in its data.
Place: TypeAlias = str | list[str]
#: The texts between stars; or a side and a bound.
Test: TypeAlias = list[str] | tuple[Literal[">", "<"], float]

_LONGEST: Final = 1_000
_EXAMPLES: Final = 'name:welcome*, data.user.id:17, failed>1h or error:"timed out"'
_CONDITION: Final = re.compile(r'((?:"(?:[^"\\]|\\.)*"|[^\s":<>])+)([:<>])("(?:[^"\\]|\\.)*"|[^\s"]*)(?=\s|$)')
#: A word without a sign.
_WORD: Final = re.compile(r'("(?:[^"\\]|\\.)+"|[^\s":<>\x00-\x1f\x7f]+)(?=\s|$)')
#: Ids that libraries make: people who look for one of these want that job.
_ID: Final = re.compile(r"\d+|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}", re.ASCII | re.IGNORECASE)
_NAME: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|([^."]+)|(\.)')
_TEXTS: Final = {"id": "id", "name": "name", "error": "failedReason"}
_NUMBERS: Final = {"attempt": "atm", "priority": "priority"}
_TIMES: Final = {"added": "timestamp", "started": "processedOn", "failed": "finishedOn", "completed": "finishedOn"}
_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
#: What only who may see data may look for: errors quote data.
_OF_DATA: Final = ("data", "failedReason")


class Condition(NamedTuple):
    """A condition.

    Attributes:
        place: where the value is.
        test: what it must be.
    """

    place: Place
    test: Test

    @property
    def field(self) -> str:
        """The field of the job that is looked at."""
        return self.place if isinstance(self.place, str) else "data"


@dataclass(frozen=True)
class Where:
    """Which jobs are meant: those for which all conditions hold.

    Attributes:
        text: as somebody has written it.
        meant: the same with words that have no sign as the conditions for which they stand.
        conditions: what it means.
        states: the states in which there may be such jobs; None for all.
    """

    text: str
    meant: str
    conditions: tuple[Condition, ...]
    states: frozenset[str] | None

    @classmethod
    def read(cls, text: str) -> Where:
        """Read a filter. Ages count from now.

        Raises:
            InvalidOptionError: it cannot be read; the message says where, and what to write.
        """
        if len(text) > _LONGEST:
            raise InvalidOptionError(f"The filter has {len(text):,} characters; at most {_LONGEST:,} are read.")
        conditions: list[Condition] = []
        meant: list[str] = []
        states: frozenset[str] | None = None
        now, at = now_ms(), _start(text, 0)
        while at < len(text):
            if word := _WORD.match(text, at):
                found = _CONDITION.fullmatch(_spelled_out(word[1]))
            else:
                found = _CONDITION.match(text, at)
            if found is None:
                raise _unreadable(text[at:])
            key, sign, value = found.groups()
            meant.append(found[0])
            if key in ("failed", "completed"):
                states = frozenset({key}) if states is None else states & {key}
            conditions.append(_condition(key, sign, value, now))
            at = _start(text, (word or found).end())
        if not conditions:
            raise InvalidOptionError(f"The filter is empty. Write {_EXAMPLES}.")
        return cls(text.strip(), " ".join(meant), tuple(conditions), states)

    @property
    def fields(self) -> frozenset[str]:
        """The fields of jobs that it looks at."""
        return frozenset(condition.field for condition in self.conditions)

    @property
    def needs_data(self) -> bool:
        """Whether it looks at what only who may see data may see."""
        return not self.fields.isdisjoint(_OF_DATA)

    @property
    def needs_errors(self) -> bool:
        """Whether it looks at the texts of errors."""
        return "failedReason" in self.fields

    @property
    def names(self) -> frozenset[str]:
        """The names of fields of data that it looks at."""
        paths = [condition.place for condition in self.conditions if not isinstance(condition.place, str)]
        return frozenset(name for path in paths for name in path)

    def may_be_in(self, state: str) -> bool:
        """Tell whether there may be such jobs in a state."""
        return self.states is None or state in self.states

    def fits(self, values: Mapping[str, bytes]) -> bool:
        """Tell whether these values of a job's fields fit; other fields are not looked at."""
        looked_at = [condition for condition in self.conditions if condition.field in values]
        return fits(looked_at, dict(values))


def _start(text: str, at: int) -> int:
    """Return where the next condition begins."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _spelled_out(word: str) -> str:
    """Return the condition for which a word stands: an id, or what the name of the job has in it."""
    if word.startswith("data."):
        raise InvalidOptionError(
            f"{shown(word)} has no sign: write data.user.id:17, data.amount>100 or data.amount<100."
        )
    if _ID.fullmatch(word):
        return f"id:{word}"
    if len(_parts(word)) > 1:
        return f"name:{word}"
    return f'name:"*{word[1:-1]}*"' if word.startswith('"') else f"name:*{word}*"


def _condition(key: str, sign: str, value: str, now: int) -> Condition:
    if value in ("", '""') and sign != ":":
        raise InvalidOptionError(f"{shown(key + sign)} has no value. Write {_EXAMPLES}.")
    if key.startswith("data."):
        return Condition(_path(key), _test(key, sign, value))
    if key in _TEXTS:
        if sign != ":":
            raise InvalidOptionError(f"{key} is a text: write {key}:... instead of {key}{sign}...")
        parts = _parts(value)
        return Condition(_TEXTS[key], ["", *parts, ""] if key == "error" else parts)
    if key in _NUMBERS:
        return Condition(_NUMBERS[key], _test(key, sign, value))
    if key in _TIMES:
        return Condition(_TIMES[key], _age(key, sign, value, now))
    known = [*_TEXTS, *_NUMBERS, *_TIMES]
    raise InvalidOptionError(
        f"There is no {shown(key)} to filter by.{nearest(key, known)} Data is data.NAME. "
        "A name with such a sign stands in quotes."
    )


def _unreadable(rest: str) -> InvalidOptionError:
    word = rest.split(maxsplit=1)[0]
    if rest.count('"') % 2:
        return InvalidOptionError(f"The filter cannot be read at {shown(word)}: a quotation mark is not closed.")
    return InvalidOptionError(f"The filter cannot be read at {shown(word)}. A condition is like {_EXAMPLES}.")


def _path(key: str) -> list[str]:
    """Return the names of a path: what stands between its points. A name in quotes may have points."""
    path, name = [], ""
    for quoted, plain, point in _NAME.findall(key.removeprefix("data.")):
        if point:
            path.append(name)
            name = ""
        else:
            name += plain or re.sub(r"\\(.)", r"\1", quoted)
    path.append(name)
    if "" in path:
        raise InvalidOptionError(f"{shown(key)} has no name at one place. Write data.user.id:17.")
    return path


def _parts(value: str) -> list[str]:
    """Return the texts between the stars of a value. Behind a backslash a star is a star."""
    if value.startswith('"'):
        value = value[1:-1]
    parts = [""]
    for escaped, letter in re.findall(r"\\(.)|(.)", value, re.DOTALL):
        if letter == "*":
            parts.append("")
        else:
            parts[-1] += escaped or letter
    return parts


def _test(key: str, sign: str, value: str) -> Test:
    if sign == ":":
        return _parts(value)
    try:
        bound = float("".join(_parts(value)))
    except ValueError:
        raise InvalidOptionError(f"{key}{sign} needs a number, not {shown(value)}.") from None
    return (">" if sign == ">" else "<"), bound


def _age(key: str, sign: str, value: str, now: int) -> Test:
    """Return the test of a time: what is more than an hour ago was before."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|min|m|h|d)", value)
    if sign == ":" or found is None:
        raise InvalidOptionError(
            f"{key} is a time: write {key}>1h for more than an hour ago, {key}<30s for the last 30 seconds."
        )
    bound = now - float(found[1]) * _UNITS[found[2]]
    return ("<" if sign == ">" else ">"), bound
