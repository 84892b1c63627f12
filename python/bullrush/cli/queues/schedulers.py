"""``bullrush schedulers``: the job schedulers of a queue; removes some, or those of tasks whose code has gone."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Final

from bullrush.cli.terminal.asking import add_yes, confirm
from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.cli.terminal.options import add_queue, count, known_queue
from bullrush.cli.terminal.output import moment, say, write, write_json, write_table
from bullrush.extending import now_ms, run_blocking
from bullrush.inspection import coming_runs, latest_job, stopped
from bullrush.queue import Queue
from bullrush.scheduler import SchedulerJson

EXAMPLES = """\
  bullrush schedulers mail
  bullrush schedulers mail --next 3                  the next three runs of each
  bullrush schedulers mail --json | jq '.[].pattern'
  bullrush schedulers mail --remove nightly          asks, then removes it with its next job
  bullrush schedulers mail --prune app.jobs:tasks    asks, then removes those of @tasks.cron whose code has gone"""

#: A run is overdue if it still waits so many ms after its time: a worker may be about to take it.
_OVERDUE_AFTER: Final = 10_000
_WAITS: Final = frozenset({"waiting", "delayed", "prioritized", "paused"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("--next", type=count, metavar="N", help="show the next N runs of each, by their time")
    parser.add_argument(
        "--prune",
        action="append",
        metavar="module:tasks",
        help="remove those that a @tasks.cron made and that this Tasks no longer has; give all of the queue",
    )
    parser.add_argument(
        "--remove",
        action="append",
        metavar="ID",
        help="remove this one, with its next job; one of a @tasks.cron comes back when a worker starts",
    )
    add_yes(parser)


def run(options: argparse.Namespace) -> int:
    """Print the schedulers, the next due first.

    JSON: a list of `SchedulerJson`, each with ``stopped``, why it makes no more jobs or null, and ``overdue``, whether
    its next job waits although its time is over; with ``--next`` with ``coming``, a list of times;
    pruned or removed: ``{"queue", "removed": [id]}``.
    """
    if options.prune and options.remove:
        raise CommandError("give either --prune or --remove", USAGE)
    if options.prune:
        return _prune(options)
    if options.remove:
        return _remove(options)
    queue, now = known_queue(options), now_ms()
    found = queue.get_job_schedulers(asc=True)
    broken = run_blocking(stopped(queue.core, found, now))
    coming = {one["key"]: [] if one["key"] in broken else coming_runs(one, now, options.next or 1) for one in found}
    late = _overdue(queue, [one for one in found if one["key"] not in broken], now)
    if options.json:
        runs = {key: {"coming": times} for key, times in coming.items()} if options.next else {}
        write_json(
            [
                {**one, "stopped": broken.get(one["key"]), "overdue": one["key"] in late, **runs.get(one["key"], {})}
                for one in found
            ]
        )
        return 0
    for id, why in broken.items():
        say(f"{id}: {why} `bullrush doctor {queue.name}` says what to do.")
    if options.next:
        _print_coming(found, coming, late, queue.name)
    elif not found:
        say(f"The queue {options.queue!r} has no job schedulers.")
    else:
        titles = ["id", "job name", "pattern", "every (ms)", "time zone", "next", "jobs made"]
        rows = [
            [
                scheduler["key"],
                scheduler.get("name"),
                scheduler.get("pattern"),
                scheduler.get("every"),
                scheduler.get("tz"),
                "stopped" if scheduler["key"] in broken else _next(scheduler, is_late=scheduler["key"] in late),
                scheduler.get("iteration_count"),
            ]
            for scheduler in found
        ]
        write_table(titles, rows)
    return 0


def _overdue(queue: Queue, schedulers: Sequence[SchedulerJson], now: int) -> frozenset[str]:
    """Return the ids of those whose next job waits although its time is over. Only where it is over Redis is asked."""
    past = [one for one in schedulers if now - one["next"] > _OVERDUE_AFTER]
    return frozenset(one["key"] for one in past if queue.get_job_state(latest_job(one)) in _WAITS)


def _next(scheduler: SchedulerJson, *, is_late: bool) -> str:
    return f"{moment(scheduler['next'], scheduler.get('tz') or 'UTC')}{' (overdue)' if is_late else ''}"


def _print_coming(
    found: Sequence[SchedulerJson], coming: Mapping[str, Sequence[int]], late: Collection[str], queue: str
) -> None:
    rows = [[_next(one, is_late=True), one["key"], one.get("name")] for one in found if one["key"] in late]
    runs = sorted(
        ((at, one["key"], one.get("name"), one.get("tz")) for one in found for at in coming[one["key"]]),
        key=itemgetter(0),
    )
    rows += [[moment(at, tz or "UTC"), key, name] for at, key, name, tz in runs]
    if rows:
        write_table(["next", "id", "job name"], rows)
    else:
        say(f"Nothing comes: the queue {queue!r} has no job scheduler that goes on.")


def _prune(options: argparse.Namespace) -> int:
    # Imported here: the other calls need no tasks.
    from bullrush.cli.worker.targets import import_target
    from bullrush.tasks import Tasks, find_gone, prune

    known: set[str] = set()
    for target in options.prune:
        tasks = import_target(target)
        if not isinstance(tasks, Tasks) or tasks.queue != options.queue:
            raise CommandError(f"{target} is no Tasks of the queue {options.queue!r}", USAGE)
        known |= tasks.crons.keys()
    queue = known_queue(options)
    removed = find_gone(queue, known)
    if removed:
        confirm(options, f"Remove these job schedulers of {queue.name}: {', '.join(removed)}?")
        removed = prune(queue, known)
    if options.json:
        write_json({"queue": queue.name, "removed": removed})
    elif removed:
        write(f"Removed from {queue.name}: {', '.join(removed)}.")
    else:
        write(f"Nothing to remove: the code of all schedulers that @tasks.cron made in {queue.name} is here.")
    return 0


def _remove(options: argparse.Namespace) -> int:
    queue = known_queue(options)
    wanted = list(dict.fromkeys(options.remove))
    missing = [one for one in wanted if queue.get_job_scheduler(one) is None]
    if missing:
        raise CommandError(f"{queue.name} has no job scheduler {', '.join(missing)}; nothing was removed")
    confirm(options, f"Remove these job schedulers of {queue.name}: {', '.join(wanted)}?")
    removed = [one for one in wanted if queue.remove_job_scheduler(one)]
    if options.json:
        write_json({"queue": queue.name, "removed": removed})
    else:
        write(f"Removed from {queue.name}: {', '.join(removed)}.")
    return 0
