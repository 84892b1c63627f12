"""What the codec takes without pydantic, pydantic takes as well, with the same value; over thousands of values."""

import dataclasses
import enum
import random
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Final, Literal

import orjson
import pytest

from bullrush.errors import DataError
from bullrush.extending import encode
from bullrush.tasks.codecs import MisfitError
from bullrush.tasks.codecs.codec import AsJson
from bullrush.tasks.codecs.with_pydantic import compile_with_pydantic


class Plan(enum.Enum):
    FREE = "free"
    PAID = "paid"


class Mixed(enum.Enum):
    ONE = 1
    TEXT = "a"
    NOTHING = None
    HALF = 1.5
    ZERO = 0


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(str, enum.Enum):
    A = "a"
    ONE = "1"


@dataclasses.dataclass
class Address:
    street: str
    number: int = 1
    seal: bytes = b""


@dataclasses.dataclass
class Order:
    total: Decimal
    at: datetime | None = None
    lines: list[Address] = dataclasses.field(default_factory=list)


TYPES: Final[list[Any]] = [
    *(int, float, str, bool, None, list, dict, list[int], list[float], dict[str, int], Mapping[str, float]),
    *(Sequence[str], Literal["a", 1, True], Literal[0], int | None, int | str, float | None, bool | None),
    *(datetime, date, time, uuid.UUID, Decimal, bytes, Plan, Mixed, Level, Word, Address, Order, list[Address]),
    *(set[int], set[Decimal], frozenset[str], frozenset[uuid.UUID], tuple[int, ...], tuple[date, ...], date | None),
    *(datetime | date, time | datetime | date, Decimal | int, int | Decimal, str | bytes, bytes | str, Decimal | str),
    *(uuid.UUID | str | None, list[date] | list[str], dict[str, date | None], list[Plan], Plan | int, Plan | str),
    *(Level | int, bool | Level, Address | Order, Address | None | str, float | Decimal, bytes | date),
]

ID: Final = "3A4cd2c6-bfdb-4c33-b1f7-70c90cb7c64d"
TEXTS: Final = [
    *("", "a", "free", "PAID", "null", "true", "é", "\x00", "%%"),
    *("1", "0", "-0", " 1 ", "1\n", "+1", "1.", ".5", "1_000", "１", "0x10", "1,5", "1e5", "1e999", "1e-999"),
    *("1e999999999", "9" * 5_000, "0." + "1" * 5_000, "NaN", "-nan", "sNaN", "inf", "-Infinity", "nan123"),
    *("2024-02-29", "2023-02-29", "20240229", "2024-W09-4", "2024-060", "2024-2-9", "0000-01-01", "10000-01-01"),
    *("2024-02-29 ", "2024/02/29", "２024-02-29", "9999-12-31"),
    *(f"2024-02-29{separator}12:00:00" for separator in "Tt _x"),
    *("2024-02-29T12", "2024-02-29T12:00", "2024-02-29T1200", "20240229T120000", "2024-02-29T24:00:00"),
    *(
        f"2024-02-29T12:00:00{rest}"
        for rest in (
            *(".1", ".123456789Z", "." + "1" * 5_000, ".", ".+02:00", ",5", "Z", "z", " Z", "Z ", "+02", "+02:00"),
            *("+0200", "+02:60", "+0260", "+24:00", "+23:59", "-00:00", " +02:00", "−02:00", "+02:00:00", "+2:00"),
        )
    ),
    *("12:30", "12:30:00", "12:30:00.5", "12", "1230", "123000", "12:30Z", "12:30:00+02:00", "24:00", "T12:30"),
    *("23:59:60", "0" * 31, "12:30:00." + "0" * 5_000),
    *(ID, ID.lower(), ID.replace("-", ""), f"{{{ID}}}", f"{{{ID.replace('-', '')}}}", f"urn:uuid:{ID}", f"{ID} "),
    *(f"URN:UUID:{ID}", f"urn:uuid:{ID.replace('-', '')}", ID.replace("-", "_"), "0-" * 16 + "0" * 16, ID[:-1]),
    *("=", "A", "A=", "AA", "AA=", "AA==", "AA===", "AAA", "AAA=", "AAAA", "AAAA=", "AAAA====", "AB==", "AAB="),
    *("__4-", "++//", "+-/_", "Y Q==", "YQ==\n", "YQ==YQ=="),
]
NUMBERS: Final = [0, 1, 2, -1, 2**31, 2**53, 0.0, -0.0, 1.0, 1.5, 0.1, 1e22, 1e300, 5e-324]

MINUTES: Final = timezone(timedelta(hours=-5, minutes=-30))
SECONDS: Final = timezone(timedelta(seconds=3_601))
OBJECTS: Final[list[Any]] = [
    *(*NUMBERS, True, False, None, 10**30, float("nan"), float("inf"), "a", "free", b"x", b"\xff", bytearray(b"x")),
    *(Decimal("1.10"), Decimal("-0"), Decimal("9" * 5_000), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")),
    *(date.min, date.max, datetime.min, datetime.max, datetime(2024, 2, 29, 12, 0, 0, 5, MINUTES), time(12)),
    *(time(12, tzinfo=timezone.utc), time(12, 0, 0, 5, MINUTES), time(12, tzinfo=SECONDS), uuid.UUID(ID)),
    *(datetime(2024, 2, 29, tzinfo=timezone.utc), datetime(2024, 2, 29, tzinfo=SECONDS), *Plan, *Level, *Word),
    *(Mixed.ONE, Mixed.NOTHING, Address("x"), Address("x", 1, b"\xff"), Order(Decimal(1), None, [Address("x")])),
    *([], [1], [1, "a"], (1, 2), {1}, {1.5}, frozenset({"a"}), set(), [Address("x")], [Decimal(1)], {Decimal(1)}),
    *({"a": 1}, {"a": date(2024, 1, 1)}, {"a": None}, {1: 2}, {"street": "x"}, [Plan.FREE], range(3), object()),
]

#: What only pydantic reads as a date: a number of seconds as a text.
ONLY_PYDANTIC: Final = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?", re.IGNORECASE)


def made_of(chance: random.Random, depth: int = 0) -> Any:
    """Return a JSON value."""
    kind = chance.random()
    if kind < 0.5:
        return altered(chance, chance.choice(TEXTS))
    if kind < 0.75 or depth == 2:
        return chance.choice([*NUMBERS, True, False, None])
    inner = [made_of(chance, depth + 1) for _ in range(chance.randrange(3))]
    return inner if kind < 0.88 else {chance.choice(["street", "total", "at", "lines", "x"]): one for one in inner}


def altered(chance: random.Random, text: str) -> str:
    if len(text) > 100 or chance.random() < 0.6:
        return text
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice("0123456789-+:.TZ eE_=/aAf\n") + text[at + chance.randrange(2) :]


def tried(convert: Callable[[dict[str, Any]], dict[str, Any]], value: Any) -> tuple[bool, Any]:
    """Return whether a value fits, and what it becomes."""
    try:
        return True, convert({"it": deepcopy(value)})["it"]
    except (MisfitError, DataError):
        return False, None


def as_stored(convert: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a conversion to what is stored, as values of JSON."""
    return lambda values: {"it": orjson.loads(encode(convert(values)["it"], "it"))}


def same(one: Any, other: Any) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return one == other and (type(one) is type(other) or numbers)


@pytest.mark.parametrize("hint", TYPES, ids=str)
def test_data_has_the_same_value_with_and_without_pydantic_or_is_refused_without(hint: Any) -> None:
    """240 values for each of the types: 13,000 in all."""
    chance = random.Random(str(hint))
    own = AsJson(pydantic=False).compile({"it": hint}, ["it"]).decode
    _, pydantic = compile_with_pydantic({"it": hint}, ["it"])
    for value in (*TEXTS, *NUMBERS, True, False, None, [], {}, *(made_of(chance) for _ in range(100))):
        (fits, found), (wanted_fits, wanted) = tried(own, value), tried(pydantic, value)
        number = isinstance(value, str) and ONLY_PYDANTIC.fullmatch(value) is not None
        if fits and not (number and isinstance(wanted, date)):
            assert wanted_fits and same(found, wanted), (hint, value, found, wanted)
        if isinstance(value, str) and not number:
            assert fits == wanted_fits, (hint, value, wanted)


@pytest.mark.parametrize("hint", TYPES, ids=str)
def test_a_value_has_the_same_form_with_and_without_pydantic_or_is_refused_without(hint: Any) -> None:
    own = AsJson(pydantic=False).compile({"it": hint}, ["it"])
    pydantic, _ = compile_with_pydantic({"it": hint}, ["it"])
    for value in OBJECTS:
        (fits, stored), (wanted_fits, wanted) = tried(as_stored(own.encode), value), tried(as_stored(pydantic), value)
        if fits:
            assert wanted_fits and stored == wanted, (hint, value, stored, wanted)
            assert tried(own.decode, stored)[0], (hint, value)


@pytest.mark.parametrize("kind", [Plan, Mixed, Level])
def test_true_is_no_member_of_an_enum_of_numbers(kind: type[enum.Enum]) -> None:
    """Pydantic takes it for 1."""
    decode = AsJson(pydantic=False).compile({"it": kind}, ["it"]).decode
    for value in True, False:
        assert tried(decode, value) == (False, None)
