"""The arguments of a migration, checked."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, get_args

from bullrush.errors import InvalidOptionError
from bullrush.extending import QueueCalls, check_job_name, checks, cron_next
from bullrush.legacy.convert import Order, Rules, TakenIds
from bullrush.url import address, database

_ORDERS: Final = get_args(Order)
_TAKEN_IDS: Final = get_args(TakenIds)


class Options(NamedTuple):
    """What the user asked for."""

    rules: Rules
    history: int
    merge: bool
    legacy_workers_stopped: bool
    dry_run: bool


def check_options(rules: Rules, history: object, **switches: object) -> Options:
    """Return checked options.

    Args:
        rules: see `check_rules`.
        history: how many finished jobs of each state move.
        switches: the options that are on or off.

    Raises:
        InvalidOptionError: one of them is wrong.
    """
    given = {name: checks.boolean(name, value) for name, value in switches.items()}
    return Options(rules, checks.at_least(0)("history", history), **given)


def check_rules(
    order: object, default_name: object, keep_backoff: object, taken_ids: object, tz: object = None
) -> Rules:
    """Return checked rules of conversion.

    Raises:
        InvalidOptionError: one of them is wrong.
    """
    if order not in _ORDERS:
        raise InvalidOptionError(f"order must be one of {', '.join(map(repr, _ORDERS))}, not {order!r}")
    if taken_ids not in _TAKEN_IDS:
        raise InvalidOptionError(f"taken_ids must be one of {', '.join(map(repr, _TAKEN_IDS))}, not {taken_ids!r}")
    if tz is not None:
        cron_next("* * * * *", checks.text("tz", tz), 0)  # refuses what is no zone
    return Rules(
        order=order,  # type: ignore[arg-type]
        default_name=check_job_name(default_name),
        keep_backoff=checks.boolean("keep_backoff", keep_backoff),
        tz=tz,  # type: ignore[arg-type]
        taken_ids=taken_ids,  # type: ignore[arg-type]
    )


def check_target(to: object, name: str, base: tuple[str, str]) -> QueueCalls[Any]:
    """Return the queue that the jobs go to.

    Args:
        to: what the user gave.
        name: the prefix and the name of the queue of Bull.
        base: where that is, see `place`.

    Raises:
        InvalidOptionError: it is no queue, or the queue of Bull itself.
    """
    if not isinstance(to, QueueCalls):
        raise InvalidOptionError(f"to must be a bullrush.Queue or bullrush.aio.Queue, not {to!r}")
    if to.qualified_name == name and place(to._url) == base:
        raise InvalidOptionError(
            f"to is the queue of Bull itself: jobs move to another name or prefix, such as Queue({to.name!r}, "
            "prefix='bullmq')"
        )
    return to


def place(url: str) -> tuple[str, str]:
    """Return the server and the database of a URL."""
    return address(url), str(database(url))
