"""What is hidden in texts and values: passwords of URLs, named fields, and what expressions match."""

from __future__ import annotations

import time

import pytest

from bullrush.errors import InvalidOptionError
from bullrush.masks import HIDDEN, Masks


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=hunter2 for 17", "password=*** for 17"),
        ("{'PassWord': 'it is'} refused", "{'PassWord': ***} refused"),
        ('{"password": "a \\"b c", "x": 1}', '{"password": ***, "x": 1}'),
        ('"{\\"password\\":\\"a b\\",\\"x\\":1}"', '"{\\"password\\":***,\\"x\\":1}"'),
        ("GET /?a=1&password=x&b=2", "GET /?a=1&password=***&b=2"),
        ('card: {"number": 4111, "cvv": [1]} refused', "card: ***"),
        ("the password of user 17 is wrong", "the password of user 17 is wrong"),
        ("old_password=x", "old_password=x"),
    ],
)
def test_what_follows_the_name_of_a_field_is_hidden(text: str, shown: str) -> None:
    assert Masks(["password", "CARD"]).hide(text) == shown


def test_what_an_expression_matches_is_hidden_in_texts_and_values() -> None:
    veil = Masks(texts=[r"\d{4}-\d{4}"]).veil()
    assert veil.text("card 4111-1111") == f"card {HIDDEN}"
    assert veil.value({"a": ["4111-1111", 4]}) == {"a": [HIDDEN, 4]}


def test_passwords_of_urls_are_hidden_without_masks() -> None:
    masks = Masks()
    assert masks.hide("cannot reach redis://me:geheim@host") == "cannot reach redis://me:***@host"
    assert not masks.needed and masks.veil({"a": 1}).value({"a": 1}) == {"a": 1}


def test_a_value_of_a_hidden_field_is_hidden_wherever_the_job_quotes_it() -> None:
    veil = Masks(["password"]).veil({"user": {"password": "hunter2"}}, {"note": "used hunter2"})
    assert veil.text("rejected hunter2") == f"rejected {HIDDEN}"
    assert veil.value({"note": "used hunter2", "password": 7}) == {"note": f"used {HIDDEN}", "password": HIDDEN}


def test_an_expression_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="mask_text"):
        Masks(texts=["("])


@pytest.mark.parametrize("text", ["x" * 2_000_000, "x" * 2_000_000 + " redis://me:geheim@host", "a://" * 500_000])
def test_a_long_text_is_hidden_in_no_time(text: str) -> None:
    begin = time.process_time()
    assert "geheim" not in Masks(["password"]).hide(text)
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at 1://a://u:geheim@host", "at 1://a://***"),
        (
            "x" * 40 + "redis://u:geheim@host, redis://v:geheim@host",
            "x" * 31 + "xxxxxxxxxredis://*** redis://v:***@host",
        ),
        ('"redis://u:geheim@host" "redis://v:geheim@host"', '"redis://u:***@host" "redis://v:***@host"'),
        ("+://u:geheim@host", "+***"),
    ],
)
def test_a_url_is_found_wherever_it_stands(text: str, shown: str) -> None:
    assert Masks().hide(text) == shown
