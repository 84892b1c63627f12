"""What a filter means, and what is said of one that cannot be read."""

from __future__ import annotations

import pytest

from bullrush._core import now_ms
from bullrush.errors import InvalidOptionError
from bullrush.inspection import Where


@pytest.mark.parametrize(
    ("text", "place", "test"),
    [
        ("name:welcome*", "name", ["welcome", ""]),
        ("id:17", "id", ["17"]),
        ('name:"two words"', "name", ["two words"]),
        (r'name:"a \"star\" is \*"', "name", ['a "star" is *']),
        ("error:refused", "failedReason", ["", "refused", ""]),
        ("attempt>2", "atm", (">", 2.0)),
        ("priority:5", "priority", ["5"]),
        ("data.user.id:17", ["user", "id"], ["17"]),
        ("data.amount<-1.5", ["amount"], ("<", -1.5)),
        ('data."a.b"."c:d".e:x:y', ["a.b", "c:d", "e"], ["x:y"]),
        ("data.items.0.sku:", ["items", "0", "sku"], [""]),
        ("welcome", "name", ["", "welcome", ""]),
        ("welcome*", "name", ["welcome", ""]),
        ('"user:created now"', "name", ["", "user:created now", ""]),
        ("order-17", "name", ["", "order-17", ""]),
        ("17", "id", ["17"]),
        ('"17"', "name", ["", "17", ""]),
        ("3F2504E0-4f89-11d3-9a0c-0305e82c3301", "id", ["3F2504E0-4f89-11d3-9a0c-0305e82c3301"]),
    ],
)
def test_a_condition_says_where_the_value_is_and_what_it_must_be(text: str, place: object, test: object) -> None:
    assert Where.read(text).conditions == ((place, test),)


def test_words_without_a_sign_stand_for_conditions() -> None:
    where = Where.read(' welcome  "two words" 17 failed>1h  mail*')
    assert where.text == 'welcome  "two words" 17 failed>1h  mail*'
    assert where.meant == 'name:*welcome* name:"*two words*" id:17 failed>1h name:mail*'
    assert Where.read(where.meant).conditions[:3] == where.conditions[:3]


def test_ages_count_from_now() -> None:
    (long_ago, lately) = Where.read("failed>1h failed<2d").conditions
    assert long_ago[0] == lately[0] == "finishedOn"
    assert long_ago[1][0] == "<" and abs(now_ms() - 3_600_000 - float(long_ago[1][1])) < 60_000
    assert lately[1][0] == ">" and abs(now_ms() - 172_800_000 - float(lately[1][1])) < 60_000


def test_a_filter_may_need_a_state_and_a_right() -> None:
    assert Where.read("failed>1h").may_be_in("failed") and not Where.read("failed>1h").may_be_in("waiting")
    assert not Where.read("failed>1h completed>1h").may_be_in("failed")
    assert Where.read("name:x").may_be_in("failed") and not Where.read("name:x id:1 attempt>1").needs_data
    assert Where.read("data.x:1").needs_data and Where.read("error:x").needs_data


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("wel\x00come", "The filter cannot be read at"),
        ("data.user.id", "'data.user.id' has no sign: write data.user.id:17"),
        ("user:created", "A name with such a sign stands in quotes."),
        ('""', "The filter cannot be read at '\"\"'."),
        ("name:x :", "The filter cannot be read at ':'."),
        ('error:"timed out', "a quotation mark is not closed"),
        ('name:"x"y', "The filter cannot be read at 'name:\"x\"y'."),
        ("nam:x", "There is no 'nam' to filter by. Did you mean 'name'?"),
        ("data:x", "There is no 'data' to filter by."),
        ("data..x:1", "'data..x' has no name at one place."),
        ("name>x", "name is a text: write name:..."),
        ("attempt>many", "attempt> needs a number, not 'many'."),
        ("attempt>", "'attempt>' has no value."),
        ("failed:1h", "failed is a time: write failed>1h for more than an hour ago"),
        ("failed>1y", "failed is a time"),
        ("  ", "The filter is empty."),
        ("name:" + "x" * 1_000, "The filter has 1,005 characters; at most 1,000 are read."),
    ],
)
def test_what_cannot_be_read_is_said(text: str, said: str) -> None:
    with pytest.raises(InvalidOptionError) as error:
        Where.read(text)
    assert said in str(error.value)


def test_values_of_fields_fit_or_do_not() -> None:
    where = Where.read("name:mail* data.user.id:17 attempt>2")
    assert where.fits({"name": b"mails", "data": b'{"user": {"id": 17}}'})
    assert not where.fits({"name": b"mails", "data": b'{"user": {"id": 18}}'})
    assert not where.fits({"name": b"video", "data": b'{"user": {"id": 17}}'})
