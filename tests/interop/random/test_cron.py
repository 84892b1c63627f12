"""Thousands of random cron patterns, zones and times fire when cron-parser 4.9, which BullMQ uses, says so."""

import random
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bullrush._core import cron_next
from bullrush.errors import InvalidOptionError

ROWS = 1000
ZONES = [
    *(
        "UTC",
        "Europe/Paris",
        "Europe/London",
        "America/New_York",
        "America/Sao_Paulo",
        "America/St_Johns",
        "America/Havana",
    ),
    *("Asia/Kolkata", "Asia/Kathmandu", "Asia/Beirut", "Africa/Cairo", "Africa/Casablanca", "Australia/Lord_Howe"),
    *("Pacific/Apia", "Antarctica/Troll"),
]
#: Of each field: least and greatest value, and how often it is ``*``.
FIELDS = [(0, 59, 0.2), (0, 59, 0.3), (0, 23, 0.4), (1, 31, 0.65), (1, 12, 0.75), (0, 7, 0.6)]
MONTHS = ["jan", "FEB", "Mar", "apr", "may", "jun", "JUL", "aug", "sep", "oct", "nov", "dec"]
DAYS = ["sun", "MON", "Tue", "wed", "thu", "fri", "sat"]
CHANGES = [(2, 28), (3, 31), (4, 30), (9, 30), (10, 31), (11, 10)]


def an_item(chance: random.Random, field: int) -> str:
    low, high, _ = FIELDS[field]
    first, last = sorted((chance.randint(low, high), chance.randint(low, high)))
    special = {
        3: ["L"],
        4: MONTHS,
        5: [*DAYS, f"{first}L", f"{first}#{chance.randint(1, 5)}", "mon-fri", "sat-sun"],
    }
    kinds = {
        f"{first}": 10,
        f"{first}-{last}": 3,
        f"{first}-{last}/{chance.randint(1, 7)}": 2,
        f"*/{chance.randint(1, 30)}": 2,
        f"{first}/{chance.randint(1, 20)}": 1,
        chance.choice(special.get(field, ["*"])): 2,
    }
    return chance.choices(list(kinds), list(kinds.values()))[0]


def a_field(chance: random.Random, field: int) -> str:
    if chance.random() < FIELDS[field][2]:
        return "*"
    return ",".join(an_item(chance, field) for _ in range(chance.choice([1, 1, 1, 2, 3])))


def a_row(chance: random.Random) -> list[Any]:
    seconds = chance.random() < 0.35
    pattern = " ".join(a_field(chance, field) for field in range(0 if seconds else 1, 6))
    if chance.random() < 0.05:
        pattern = chance.choice(["@yearly", "@monthly", "@weekly", "@daily", "@hourly"])
    # Most times are near a day on which clocks may change.
    month, last = chance.choice(CHANGES) if chance.random() < 0.6 else (chance.randint(1, 12), 28)
    day = datetime(chance.randint(2015, 2035), month, chance.randint(1, last), tzinfo=timezone.utc)
    moment = day + timedelta(milliseconds=chance.randrange(86_400_000))
    return [pattern, chance.choice(ZONES), round(moment.timestamp() * 1000)]


def ours(pattern: str, zone: str, after: int, skips_lost_midnights: bool = True) -> int | None:
    """Return when the pattern fires next, None when it never does or is refused."""
    try:
        return cron_next(pattern, zone, after, skips_lost_midnights)
    except InvalidOptionError:
        return None


def is_a_day_without_midnight(firing: int, zone: str) -> bool:
    local = datetime.fromtimestamp(firing / 1000, ZoneInfo(zone))
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    return midnight.astimezone(timezone.utc).astimezone(ZoneInfo(zone)).hour != 0


@pytest.mark.parametrize("seed", range(2))
def test_random_patterns_fire_at_the_same_time(node, seed):
    chance = random.Random(seed)
    rows = [a_row(chance) for _ in range(ROWS)]
    theirs = node.call("crons", rows=rows)
    different = [
        f"{row}: expected {firing}, got {ours(*row)}"
        for row, firing in zip(rows, theirs, strict=True)
        if ours(*row) != (firing or None)
    ]
    assert different == []
    shifted = [row for row in rows if ours(*row) != ours(*row, skips_lost_midnights=False)]
    assert [row for row in shifted if not is_a_day_without_midnight(ours(*row, False) or 0, row[1])] == []
    assert sum(bool(firing) for firing in theirs) > ROWS * 0.8
