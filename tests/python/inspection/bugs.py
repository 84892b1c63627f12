"""Bugs as users write them: each fails in the same way for every value."""

import json
import os
import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path


class PaymentDeclined(Exception):
    """An error of a program, with a text that has values."""

    def __init__(self, card, reason):
        super().__init__(f"card {card} declined: {reason}")


@dataclass
class Order:
    id: int
    total: object
    lines: list


def missing_key(n):
    row = {"name": "Ada", f"column-{n}": 1}
    return row[f"email-{n}"]


def missing_key_elsewhere(n):
    settings = {"host": "x"}
    return settings[f"port{n}"]


def attribute_of_none(n):
    user = {n + 1: Order(1, 2, [])}.get(n)
    return user.total


def wrong_type(n):
    return Order(n, "12.50", []).total + n


def division(n):
    rows = []
    return sum(rows) / len(rows)


def not_json(n):
    return json.loads("{" * (n + 1) + "oops")


def not_a_number(n):
    return int(f"twelve-{n}")


def not_a_number_in_a_helper(n):
    def parsed(text):
        return int(text)

    return [parsed(text) for text in ("1", f"x{n}")]


def no_such_file(n):
    return Path(f"/tmp/no-such-directory-{n}/orders-{uuid.uuid4()}.csv").read_text()


def no_such_variable(n):
    return os.environ[f"NO_SUCH_VARIABLE_{n}"]


def declined(n):
    raise PaymentDeclined(f"{4000 + n}-1111", ["no money", "expired", "stolen", "limit", "unknown"][n % 5])


def declined_twice(n):
    try:
        declined(n)
    except PaymentDeclined as error:
        raise RuntimeError(f"order {uuid.uuid4()} cannot be paid") from error


def free_text(n):
    who = ["Ada", "Grace", "Linus", "Guido", "Barbara"][n % 5]
    raise ValueError(f"user {who} has no mail address")


def free_text_elsewhere(n):
    raise ValueError("user Ada has no mail address")


def bad_date(n):
    return datetime.strptime(f"2026-13-{n + 10}", "%Y-%m-%d")


def bad_decimal(n):
    return Decimal(f"1,{n}0")


def bad_pattern(n):
    return re.compile("(" * (n + 1))


def index(n):
    lines = Order(n, 0, list(range(n))).lines
    return lines[n + 5]


def unpacked(n):
    first, second = range(n + 3)
    return first, second


def assertion(n):
    total = n
    assert total < 0, f"the total of order {n} is {total}"


BUGS = {
    name: found
    for name, found in list(globals().items())
    if callable(found) and getattr(found, "__module__", "") == __name__ and name[0].islower()
}
