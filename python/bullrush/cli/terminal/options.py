"""The options that commands share, and the queue that they name."""

from __future__ import annotations

import argparse
import os
import re
from typing import Final

from bullrush.cli.terminal.ending import NO_REDIS, USAGE, CommandError
from bullrush.errors import RedisServerError
from bullrush.extending import nearest
from bullrush.queue import Queue, queue_names
from bullrush.url import address, resolve

_TIMEOUT_MS: Final = 5_000
#: A queue may have hundreds of routes, which are queues, too.
_MOST_NAMES: Final = 10
_UNITS: Final = {"ms": 1, "": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def add_connection(parser: argparse.ArgumentParser, *url: str) -> None:
    """Add the options that say where Redis is, and how to print.

    Args:
        parser: the parser of the command.
        url: the names of the option for the URL, ``--url`` by default.
    """
    group = parser.add_argument_group("Redis and output")
    group.add_argument(
        *(url or ("--url",)),
        dest="url",
        metavar="URL",
        help="the URL of Redis; by default BULLRUSH_URL, REDIS_URL, or this machine's port 6379",
    )
    group.add_argument("--prefix", default="bull", help="the prefix of all keys (default: bull)")
    group.add_argument(
        "--timeout", type=duration, default=_TIMEOUT_MS, metavar="TIME", help="how long to wait for Redis"
    )
    group.add_argument("--json", action="store_true", help="print JSON")


def add_queue(parser: argparse.ArgumentParser) -> None:
    """Add the queue and the connection."""
    parser.add_argument("queue", metavar="QUEUE", help="the queue's name")
    add_connection(parser)


def add_new(parser: argparse.ArgumentParser) -> None:
    """Add the option that lets a command change a queue that has no job yet."""
    parser.add_argument("--new", action="store_true", help="the queue need not exist yet")


def duration(text: str) -> int:
    """Return the ms of a time such as 1500, 1500ms, 30s, 10m, 2h or 7d."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|)", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write ms as a number, or 30s, 10m, 2h, 7d")
    return round(float(found[1]) * _UNITS[found[2]])


def count(text: str) -> int:
    """Return a whole number from 1 up."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number greater than 0")
    return int(text)


def url_of(options: argparse.Namespace) -> str:
    """Return the URL to connect to; a private server is started or joined if the URL asks for one."""
    return checked_url(options.url)


def checked_url(given: str | None) -> str:
    """Return the URL to connect to, for one that was given, or for none."""
    asked = given or os.environ.get("BULLRUSH_URL") or os.environ.get("REDIS_URL") or ""
    if re.match(r"embedded://(\?|$)", asked):
        raise CommandError(
            "embedded:// without a directory is a server that only its own process sees, so a second process finds "
            "nothing there: give both the same directory, embedded://DIR",
            USAGE,
        )
    try:
        url = resolve(given)
    except ValueError as error:
        raise CommandError(str(error), USAGE) from None
    except RuntimeError as error:
        raise CommandError(str(error), NO_REDIS) from None
    return url


def open_queue(options: argparse.Namespace, name: str | None = None) -> Queue:
    """Return a queue without writing its settings, whether it exists or not."""
    return Queue(
        options.queue if name is None else name,
        url=url_of(options),
        prefix=options.prefix,
        timeout=options.timeout,
        skip_metas_update=True,
    )


def known_queue(options: argparse.Namespace, name: str | None = None) -> Queue:
    """Return a queue that exists, or any queue with ``--new``.

    Raises:
        CommandError: it does not; the text has the name that was probably meant.
    """
    queue = open_queue(options, name)
    may_be_new = getattr(options, "new", None)
    if (
        may_be_new
        or queue.get_meta()
        or any(queue.get_job_counts(routes=True).values())
        or queue.get_job_schedulers_count()
    ):
        return queue
    raise CommandError(
        f"there is no queue {queue.name!r} with the prefix {options.prefix!r} at {address(url_of(options))}."
        f"{_meant(options, queue.name)}{'' if may_be_new is None else ' If it has no job yet, say --new'}"
    )


def _meant(options: argparse.Namespace, name: str) -> str:
    """Return a sentence that names the queue that was probably meant."""
    try:
        names = list(queue_names(url_of(options), options.prefix, timeout=options.timeout))
    except RedisServerError as error:
        if error.code != "NOPERM":
            raise
        return ""  # a worker or a producer may not look for queues
    return nearest(name, names, _MOST_NAMES) if names else " There are no queues. Is the prefix (--prefix) right?"
