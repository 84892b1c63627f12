"""Which values a job can have, and how an error names the path to a wrong one."""

import datetime
import math
from dataclasses import dataclass
from decimal import Decimal

import pytest

from bullrush.errors import DataError
from bullrush.values.encoding import encode


@dataclass
class Point:
    x: int


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (None, b"null"),
        ({"a": [1, 2.5, True, None, "é/\u2028"]}, '{"a":[1,2.5,true,null,"é/\u2028"]}'.encode()),
        (2**63, b"9223372036854775808"),
        ((1, 2), b"[1,2]"),
        (Point(1), b'{"x":1}'),
        ({"null": "null"}, b'{"null":"null"}'),
    ],
)
def test_json_values_are_encoded_without_spaces_as_utf8(value: object, encoded: bytes) -> None:
    assert encode(value, "data") == encoded


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"items": [{}, {}, {}, {"when": datetime.datetime(2024, 1, 1)}]}, "data.items[3].when: datetime is not JSON"),
        ({"price": Decimal(1)}, "data.price: Decimal is not JSON serializable"),
        ({"a b": {1, 2}}, "data['a b']: set is not JSON serializable"),
        (b"bytes", "data: bytes is not JSON serializable"),
        ({"a": {1: 2}}, "data.a: key 1 is int, JSON has only str keys"),
        ({"a": [1.0, math.nan]}, "data.a[1]: nan is not JSON"),
        (math.inf, "data: inf is not JSON"),
        ({"n": 2**64}, "data.n: int does not fit in 64 bits"),
        (["\ud800"], "data[0]: str with a lone surrogate"),
    ],
)
def test_a_value_that_is_not_json_is_refused_and_its_path_is_named(value: object, message: str) -> None:
    with pytest.raises(DataError) as refused:
        encode(value, "data")
    assert str(refused.value).startswith(message)


def test_a_refused_value_is_a_type_error_and_a_value_error() -> None:
    assert issubclass(DataError, TypeError)
    assert issubclass(DataError, ValueError)


def test_a_value_that_contains_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(DataError, match="contains itself"):
        encode(loop, "data")


def test_the_error_for_values_of_numpy_says_how_to_make_json() -> None:
    np = pytest.importorskip("numpy")
    for value, advice in ((np.int64(3), "int64 is not JSON serializable; use .item()"), (np.zeros(2), "use .tolist()")):
        with pytest.raises(DataError) as refused:
            encode({"n": value}, "data")
        assert str(refused.value).startswith("data.n: ")
        assert str(refused.value).endswith(advice)
