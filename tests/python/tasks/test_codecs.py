"""Values of all types become the same JSON through pydantic and without it, and come back."""

import dataclasses
import enum
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic_core import PydanticCustomError

from bullrush import Tasks
from bullrush.errors import DataError, InvalidOptionError, MalformedJobError
from bullrush.tasks.codecs import MisfitError
from bullrush.tasks.codecs.codec import AsJson


class Plan(enum.Enum):
    FREE = "free"
    PAID = "paid"


@dataclasses.dataclass
class Address:
    street: str
    number: int = 1
    seal: bytes = b""


#: An alias that refers to itself, which pydantic cannot follow.
Tree = dict[str, "Tree"]


@dataclasses.dataclass
class Folder:
    inner: "Folder | None" = None


class Order(pydantic.BaseModel):
    id: int
    placed: datetime


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


def says_what_it_got(value: str) -> str:
    raise ValueError(f"bad value: {value}")


def says_it_in_another_way(value: str) -> str:
    raise PydanticCustomError("own_type", "bad value: {value}", {"value": value})


def job_with(data: Any) -> Any:
    return SimpleNamespace(id="1", data=data)


ID = uuid.UUID("3a4cd2c6-bfdb-4c33-b1f7-70c90cb7c64d")
NOON = datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=timezone.utc)
SAME = [
    (datetime, NOON, "2024-02-29T12:00:00.123456Z"),
    (datetime, datetime(2024, 2, 29), "2024-02-29T00:00:00"),
    (datetime, datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=2))), "2024-02-29T00:00:00+02:00"),
    (date, date(2024, 2, 29), "2024-02-29"),
    (time, time(12, 30), "12:30:00"),
    (uuid.UUID, ID, str(ID)),
    (Decimal, Decimal("1.10"), "1.10"),
    (Plan, Plan.PAID, "paid"),
    (bytes, b"\xff\xfe>?", "__4-Pw=="),
    (Address, Address("High", 2, b"\x00"), {"street": "High", "number": 2, "seal": "AA=="}),
    (list[Address], [Address("High")], [{"street": "High", "number": 1, "seal": ""}]),
    (dict[str, date | None], {"a": date(2024, 1, 1), "b": None}, {"a": "2024-01-01", "b": None}),
    (set[int], {7}, [7]),
    (tuple[int, ...], (1, 2), [1, 2]),
]


@pytest.fixture(params=[True, False], ids=["pydantic", "dataclasses"])
def codec(request: pytest.FixtureRequest) -> AsJson:
    return AsJson(pydantic=request.param)


@pytest.mark.parametrize(("hint", "value", "stored"), SAME, ids=lambda one: str(one)[:30])
def test_a_value_has_one_form_in_json_with_and_without_pydantic(codec, hint, value, stored):
    coder = codec.compile({"it": hint}, ["it"])
    assert coder.encode({"it": value}) == {"it": stored}
    assert coder.decode({"it": stored}) == {"it": value}
    assert type(coder.decode({"it": stored})["it"]) is type(value)


@pytest.mark.parametrize(
    ("hint", "value", "path"),
    [
        (int, "7", "it"),
        (int, True, "it"),
        (int, 1.5, "it"),
        (str, 7, "it"),
        (None, 0, "it"),
        (list[int], [1, "2"], "it[1]"),
        (dict[str, int], {"a": {}}, "it.a"),
        (Mapping[str, Sequence[str]], {"a": ["b", 1]}, "it.a[1]"),
        (Literal["a", "b"], "c", "it"),
        (int | None, "7", "it"),
        (Plan, "gold", "it"),
        (datetime, "yesterday", "it"),
        (uuid.UUID, "secret", "it"),
        (Decimal, "much", "it"),
        (bytes, "%%", "it"),
        (Address, {"number": 1}, "it.street"),
        (Address, {"street": "High", "floor": 2}, "it.floor"),
        (list[Address], [{"street": 1}], "it[0].street"),
    ],
    ids=str,
)
def test_data_that_does_not_fit_is_named_by_its_path_and_not_shown(codec, hint, value, path):
    with pytest.raises(MisfitError) as raised:
        codec.compile({"it": hint}, ["it"]).decode({"it": value})
    said = str(raised.value)
    assert said.startswith(f"{path}:")
    assert "secret" not in said


@pytest.mark.parametrize(
    ("hint", "value", "says"),
    [
        (Annotated[str, pydantic.AfterValidator(says_what_it_got)], "planted", "(value_error)"),
        (Annotated[str, pydantic.AfterValidator(says_it_in_another_way)], "planted", "(own_type)"),
        (Annotated[Cat | Dog, pydantic.Field(discriminator="kind")], {"kind": "planted"}, "expected tags"),
        (pydantic.ImportString, "planted", "(import_error)"),
        (uuid.UUID, "planted", "valid UUID"),
        (Order, {"id": "planted", "placed": "planted"}, "valid integer"),
        (pydantic.AnyUrl, "planted", "valid URL"),
    ],
)
def test_no_message_of_pydantic_or_of_a_validator_shows_the_value(hint, value, says):
    coder = AsJson(pydantic=True).compile({"it": hint}, ["it"])
    for call in coder.decode, coder.encode:
        with pytest.raises(MisfitError) as raised:
            call({"it": value})
        assert "planted" not in str(raised.value)
    with pytest.raises(MisfitError, match=re.escape(says)):
        coder.decode({"it": value})


@pytest.mark.parametrize("hint", [Any, object, int, str | None, list[dict[str, int]], Literal["a"], bool, float, dict])
def test_plain_json_types_need_no_conversion(hint):
    assert AsJson(pydantic=True).compile({"it": hint}, ["it"]).is_identity


def test_names_must_be_there_and_known(codec):
    coder = codec.compile({"when": date, "note": str}, ["when"])
    assert coder.decode({"when": "2024-01-01"}) == {"when": date(2024, 1, 1)}
    for wrong, path in ({"note": ""}, "when"), ({"when": "2024-01-01", "x": 1}, "x"):
        with pytest.raises(MisfitError, match=f"^{path}:"):
            coder.decode(wrong)


def test_models_of_pydantic_are_arguments(tasks: Tasks):
    @tasks.task
    def ship(order: Order, *, to: Address) -> Order:
        return order

    order = Order(id=7, placed=NOON)
    data = ship.bind(order, to=Address("High")).data
    assert data["order"] == {"id": 7, "placed": "2024-02-29T12:00:00.123456Z"}
    assert ship.signature.call(ship.signature.read(job_with(data))) == order
    assert ship.signature.decode_result(ship.signature.encode_result(order)) == order
    with pytest.raises(DataError, match=r"^ship: data\.order\.placed:"):
        ship.bind({"id": 7}, to=Address("High"))
    with pytest.raises(MalformedJobError, match=r"^Task ship, job 1: data\.order\.id:"):
        ship.signature.read(job_with({**data, "order": {"placed": "2024-02-29T12:00:00Z"}}))


@pytest.mark.parametrize("data", [None, [], "text", 7])
def test_data_that_is_no_object_is_refused(tasks: Tasks, data):
    ping = tasks.task(name="ping")(lambda: None)
    with pytest.raises(MalformedJobError, match="data must be an object"):
        ping.signature.read(job_with(data))


def test_a_type_without_a_form_in_json_is_refused_before_the_first_job(tasks: Tasks):
    def load(model: AsJson) -> None: ...
    def later(model: "Missing") -> None: ...  # noqa: F821 - what TYPE_CHECKING does
    def nested(tree: Tree, when: date) -> None: ...

    for function, said in (load, "AsJson"), (later, "not under TYPE_CHECKING"):
        with pytest.raises(InvalidOptionError, match=said):
            tasks.task(function).signature.check()
    with pytest.raises(InvalidOptionError, match="an alias cannot refer to itself"):
        tasks.task(name="nested")(nested).signature.check()
    with pytest.raises(TypeError, match=r"dataclass contains itself; install pydantic"):
        AsJson(pydantic=False).compile({"folder": Folder}, ["folder"])
    assert AsJson().compile({"folder": Folder}, ["folder"]).decode({"folder": {"inner": {}}}) == {
        "folder": Folder(Folder())
    }
    with pytest.raises(TypeError, match=r"pip install 'bullrush\[tasks\]'"):
        AsJson(pydantic=False).compile({"order": Order}, ["order"])
