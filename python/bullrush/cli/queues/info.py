"""``bullrush info``: all queues of a server in one table."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypedDict

from bullrush.cli.terminal.ending import FAILED, CommandError, code_of
from bullrush.cli.terminal.options import add_connection, duration, known_queue, open_queue, url_of
from bullrush.cli.terminal.output import jobs_of, moment, say, write, write_json, write_table
from bullrush.cli.terminal.visible import visible
from bullrush.errors import LegacyQueueError, RedisServerError
from bullrush.extending import run_blocking
from bullrush.legacy import LegacyStatus, check_colons, find_legacy, look_at
from bullrush.queue import Queue, RouteStatus, queue_names
from bullrush.routing import route_base
from bullrush.url import address

EXAMPLES = """\
  bullrush info                      all queues
  bullrush info mail video           these two
  bullrush info --routes             also each route of a queue, which is otherwise in its line
  bullrush info video --routes       this queue and each of its routes
  bullrush info --watch              again every 2 seconds; Ctrl-C ends it
  bullrush info --json | jq '.[] | select(.counts.failed > 0) | .queue'"""

_STATES: Final = ("waiting", "active", "delayed", "prioritized", "waiting-children", "completed", "failed")
#: States that are shown only if a queue has such jobs.
_SELDOM: Final = frozenset({"delayed", "prioritized", "waiting-children"})
_TO_RUN: Final = ("waiting", "paused", "delayed", "active", "prioritized", "waiting-children")
_TWO_SECONDS: Final = 2_000
_CLEAR: Final = "\x1b[H\x1b[2J"


class QueueInfo(TypedDict):
    """One queue.

    Attributes:
        queue: its name.
        prefix: the prefix of its keys.
        paused: whether it is paused.
        routes: the number of its routes that are in this line.
        counts: the number of jobs per state, with those of the routes.
        workers: the number of connected workers; of a route those that take its jobs.
        rates: completed and failed jobs in the last full minute; None if no worker counts metrics.
        legacy: ``bull`` for a queue of Bull, ``moved`` for one whose jobs have moved, ``both`` for one of the two whose
            keys BullMQ uses, too; None for one of BullMQ.
        moved_to: where the jobs of a queue of Bull have gone; None if they have not.
        moved_at: when they have begun to move, in ms since 1970; None if they have not, or it is not known.
        claimed: how many jobs of Bull a migrator has taken and not yet moved.
        version: the client that has written the settings of the queue, such as ``bullmq:6.7.0``; None if nobody has.
        compat: the major version of BullMQ that a program has set for the queue with the option ``compat``.
    """

    queue: str
    prefix: str
    paused: bool
    routes: int
    counts: dict[str, int]
    workers: int
    rates: dict[str, int | None]
    legacy: str | None
    moved_to: str | None
    moved_at: int | None
    claimed: int
    version: str | None
    compat: str | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("queues", nargs="*", metavar="QUEUE", help="only these queues (default: all)")
    parser.add_argument("--routes", action="store_true", help="a line for each route, and not one with its queue")
    parser.add_argument(
        "--watch",
        type=duration,
        nargs="?",
        const=_TWO_SECONDS,
        metavar="TIME",
        help="print again and again, by default every 2s; with --json one line each time",
    )
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Print the queues."""
    for name in options.queues:
        check_colons(name, options.prefix)
        with suppress(LegacyQueueError):  # it is there, and listed as what it is
            known_queue(options, name)
    while True:
        found, code = _read_all(options)
        if options.json:
            write_json(found, line=options.watch is not None)
        else:
            if options.watch and sys.stdout.isatty():
                sys.stdout.write(_CLEAR)
            _print(found, options)
        if options.watch is None:
            return code
        sys.stdout.flush()
        time.sleep(options.watch / 1_000)


def _names(options: argparse.Namespace) -> list[str]:
    if options.queues:
        return _with_routes(options) if options.routes else list(options.queues)
    try:
        names = set(queue_names(url_of(options), options.prefix, timeout=options.timeout))
    except RedisServerError as error:
        if error.code != "NOPERM":
            raise
        raise CommandError(
            "the user of the URL may not look for queues, as one of some queues only ('bullrush acl --queue'): give "
            "their names, such as 'bullrush info mail'",
            code_of(error),
        ) from None
    if not options.routes:
        # A queue of which only routes were used has no key of its own by which it is found.
        bases = {base for name in names if (base := route_base(name)) is not None} - names
        names.update(base for base in bases if _has_routes(open_queue(options, base)))
    return sorted(names)


def _with_routes(options: argparse.Namespace) -> list[str]:
    """Return the queues that were named, each with its routes behind it, and each one once."""
    names: dict[str, None] = {}
    for name in options.queues:
        names[name] = None
        with suppress(LegacyQueueError, RedisServerError):  # it is reported when it is read
            names.update((route.queue, None) for route in _routes_of(open_queue(options, name)))
    return list(names)


def _has_routes(queue: Queue) -> bool:
    try:
        return bool(queue.route_status())
    except (LegacyQueueError, RedisServerError):
        return True  # it is reported when it is read


def _routes_of(queue: Queue) -> list[RouteStatus]:
    return queue.route_status() if route_base(queue.name) is None else []


def _read_all(options: argparse.Namespace) -> tuple[list[QueueInfo], int]:
    """Return the queues that can be read, and the exit code: one broken queue must not hide all others."""
    found: list[QueueInfo] = []
    code = 0
    names = _names(options)
    folded: set[str] = set()
    # Bases come before their routes, also in a list that somebody has given.
    for name in sorted(names, key=lambda name: route_base(name) is not None):
        if name in folded:
            continue
        try:
            queue = open_queue(options, name)
            routes = [] if options.routes else [route.queue for route in _routes_of(queue)]
            found.append(_read(options, queue, [open_queue(options, route) for route in routes]))
            if not options.queues:
                folded.update(routes)
        except (LegacyQueueError, RedisServerError) as error:
            if isinstance(error, LegacyQueueError) and (status := _look_at(options, name)) is not None:
                if options.queues and not options.json:
                    _say_where_to(status)
                found += [_legacy(status)] if options.queues or status.is_listed else []
                continue
            if len(options.queues) == 1:
                raise
            say(f"{name}: {error}")
            code = FAILED
    found.sort(key=lambda info: names.index(info["queue"]))
    if not options.queues:
        legacy = run_blocking(find_legacy(url_of(options), options.prefix, options.timeout, names))
        found += [_legacy(status) for status in legacy if status.is_listed]
    return found, code


def _look_at(options: argparse.Namespace, name: str) -> LegacyStatus | None:
    return run_blocking(look_at(name, url_of(options), options.prefix, options.timeout))


def _say_where_to(status: LegacyStatus) -> None:
    """Say where the jobs of a queue of Bull have gone."""
    if (to := status.signpost) is None:
        return
    since = "" if (at := moment(status.moved_at)) is None else f", {at}"
    show, verify = status.commands
    place = f" at {to.place}" if to.place else ""
    text = f"moved to {to.name} with the prefix {to.prefix}{place}{since}; see `{show}`. What is left here: `{verify}`"
    say(visible(f"{status.name}: {text}", line=True))


def _legacy(status: LegacyStatus) -> QueueInfo:
    counts = {state: status.counts.get(state, 0) for state in _STATES}
    counts["waiting"] += status.counts["paused"]
    return {
        "queue": status.name,
        "prefix": status.prefix,
        "paused": status.paused,
        "routes": 0,
        "counts": counts,
        "workers": 0,
        "rates": {"completed": None, "failed": None},
        "legacy": status.kind,
        "moved_to": None if status.signpost is None else str(status.signpost),
        "moved_at": status.moved_at,
        "claimed": status.claimed,
        "version": None,
        "compat": None,
    }


def _to_run(counts: dict[str, int]) -> int:
    return sum(counts.get(state, 0) for state in _TO_RUN)


def _read(options: argparse.Namespace, queue: Queue, routes: Sequence[Queue]) -> QueueInfo:
    counts, meta = queue.get_job_counts(routes=bool(routes)), queue.get_meta()
    # The jobs of a paused queue are in another list, but they wait all the same.
    counts["waiting"] += counts.pop("paused")
    return {
        "queue": queue.name,
        "prefix": queue.prefix,
        "paused": "paused" in meta,
        "routes": len(routes),
        "counts": counts,
        "workers": workers_of(options, queue),
        "rates": {kind: _sum([_rate(one, kind) for one in (queue, *routes)]) for kind in ("completed", "failed")},
        "legacy": None,
        "moved_to": None,
        "moved_at": None,
        "claimed": 0,
        "version": meta.get("version"),
        "compat": compat if (compat := meta.get("ext:compat")) in ("5", "6") else None,
    }


def workers_of(options: argparse.Namespace, queue: Queue) -> int:
    """Return how many workers take the jobs of a queue. Those of a route may be connected as workers of its base."""
    connected = queue.get_workers_count()
    base = route_base(queue.name)
    if base is None:
        return connected
    routes = open_queue(options, base).route_status()
    return next((route.workers for route in routes if route.queue == queue.name), connected)


def _sum(rates: Sequence[int | None]) -> int | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def _rate(queue: Queue, kind: str) -> int | None:
    metrics = queue.get_metrics("completed" if kind == "completed" else "failed", 0, 0)
    return metrics["data"][0] if metrics["data"] else None


def _title(info: QueueInfo, prefix: str) -> str:
    notes = []
    if info["moved_to"] is not None:
        active = info["counts"]["active"]
        count = _to_run(info["counts"]) - active
        waiting = f", {jobs_of(count)} {'waits' if count == 1 else 'wait'}" if count else ""
        waiting += f", {jobs_of(active)} {'is' if active == 1 else 'are'} active" if active else ""
        waiting = waiting or f" to {info['moved_to']}"
        notes.append(f"moved{waiting}{', BullMQ uses it' if info['legacy'] == 'both' else ''}")
    elif info["legacy"] is not None:
        notes.append("Bull" if info["legacy"] == "bull" else "Bull and BullMQ")
    if info["claimed"]:
        notes.append(f"{info['claimed']:,} claimed by a move")
    if info["paused"]:
        notes.append("paused")
    if not (version := info["version"] or "bullmq:5.").startswith("bullmq:5."):
        notes.append(version)
    if info["compat"] is not None:
        notes.append(f"as BullMQ {info['compat']}")
    routes = f" +{info['routes']}" if info["routes"] else ""
    return _name(info, prefix) + routes + (f" ({', '.join(notes)})" if notes else "")


def _name(info: QueueInfo, prefix: str) -> str:
    """Return the name that a queue has with this prefix: Bull allows colons in it."""
    return f"{info['prefix']}:{info['queue']}".removeprefix(f"{prefix}:")


def _print(found: list[QueueInfo], options: argparse.Namespace) -> None:
    place = address(url_of(options))
    if not found:
        say(f"There are no queues with the prefix {options.prefix!r} at {place}.")
        return
    # Without the columns that most queues do not need, the table fits into a terminal of 80 columns.
    states = [state for state in _STATES if state not in _SELDOM or any(info["counts"][state] for info in found)]
    titles = ["queue", *states, "workers", "done/min", "failed/min"]
    rows = [
        [
            _title(info, options.prefix),
            *(info["counts"][state] for state in states),
            None if info["legacy"] else info["workers"],
            info["rates"]["completed"],
            info["rates"]["failed"],
        ]
        for info in found
    ]
    write(f"{len(found)} queue{'s' if len(found) > 1 else ''} at {place}")
    write_table(titles, rows)
    _explain_legacy(found, options.prefix)
    if any(info["routes"] for info in found):
        say("+N: with its N routes; --routes shows each, 'bullrush routes QUEUE' says what waits there.")
    if all(info["rates"]["completed"] is None for info in found):
        say("No jobs per minute: no worker has the option metrics, or none has run for a minute.")


def _explain_legacy(found: list[QueueInfo], prefix: str) -> None:
    """Say what to do with queues of Bull."""
    if any(info["legacy"] in ("bull", "moved") for info in found):
        say("(Bull): 'bullrush migrate QUEUE --to-prefix PREFIX' moves its jobs; (moved): run it once more.")
    if any(info["legacy"] == "both" for info in found):
        say("BullMQ uses keys of Bull's queues: 'bullrush doctor' says what to do.")
    nested = [info for info in found if info["prefix"] != prefix]
    if nested:
        words = ["bullrush", "migrate", nested[0]["queue"], "--prefix", nested[0]["prefix"], "--to-prefix", "PREFIX"]
        words += ["--to-name", _name(nested[0], prefix).replace(":", "-")]
        say(visible(f"A colon in the name, which only Bull allows: '{shlex.join(words)}' moves it.", line=True))
