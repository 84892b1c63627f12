"""``bullrush jobs list``: the jobs of a queue, by state and by what they contain."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from bullrush.cli.jobs.selection import STATES, Found, add_filters, find, is_filtered
from bullrush.cli.terminal.options import add_queue, count, known_queue
from bullrush.cli.terminal.output import age, say, write_json, write_table
from bullrush.errors import MalformedJobError
from bullrush.extending import JSON, run_blocking
from bullrush.inspection import dues_of
from bullrush.job import Job
from bullrush.queue import Queue

EXAMPLES = """\
  bullrush jobs list mail
  bullrush jobs list mail --state failed --limit 100
  bullrush jobs list mail --id 'order-*' --name welcome
  bullrush jobs list mail --error '*timed out*' --error-type TimeoutError
  bullrush jobs list mail --data ada@example.org
  bullrush jobs list mail --state failed --where 'data.user.id:17 failed<1h attempt>2'
  bullrush jobs list mail --json | jq -r '.[].failed_reason'"""

_DEFAULT_LIMIT: Final = 50
#: Columns that are only there if one of the jobs has something in them.
_SELDOM: Final = frozenset({"running for", "due", "worker"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    add_filters(parser)
    parser.add_argument(
        "--limit", type=count, default=_DEFAULT_LIMIT, metavar="N", help=f"at most N jobs (default: {_DEFAULT_LIMIT})"
    )


def run(options: argparse.Namespace) -> int:
    """Print the jobs. JSON: a list of jobs as `Job.to_json` returns them, each with its ``state`` and ``due``."""
    queue = known_queue(options)
    states = options.state or [state for state in STATES if state != "paused"]
    found = list(islice(find(queue, options, states), options.limit + 1))
    more, found = len(found) > options.limit, found[: options.limit]
    due = dues(queue, [job.id for job, state in found if state == "delayed"])
    if options.json:
        write_json([as_json(job, state, due.get(job.id)) for job, state in found])
    elif found:
        _print(found, due)
    else:
        say(f"No such job in {queue.name}." if options.state or is_filtered(options) else f"{queue.name} has no jobs.")
    if more:
        say(f"There are more than these {options.limit}: --limit N shows more.")
    return 0


def dues(queue: Queue, ids: Sequence[str]) -> dict[str, int | None]:
    """Return when delayed jobs are due, in ms since 1970: of a job that is retried its fields do not tell."""
    return dict(zip(ids, run_blocking(dues_of(queue.core, ids)), strict=True))


def as_json(job: Job, state: str, due: int | None) -> dict[str, JSON]:
    """Return a job for programs. One that cannot be decoded has ``error`` instead of its attributes."""
    try:
        return {**job.to_json(), "state": state, "due": due}
    except MalformedJobError as error:
        return {"id": job.id, "name": job.name, "state": state, "due": due, "error": str(error)}


def _print(found: list[Found], due: Mapping[str, int | None]) -> None:
    titles = ["id", "name", "state", "added", "running for", "due", "attempts", "worker", "reason"]
    rows = [_row(one, due.get(one.job.id)) for one in found]
    shown = [at for at, title in enumerate(titles) if title not in _SELDOM or any(row[at] is not None for row in rows)]
    write_table([titles[at] for at in shown], [[row[at] for at in shown] for row in rows])


def _row(found: Found, due: int | None) -> list[object]:
    job, state = found
    passed = age(job.timestamp)
    runs = age(job.processed_on) if state == "active" else None
    return [
        job.id,
        job.name,
        state,
        passed and f"{passed} ago",
        runs,
        age(due),
        job.attempts_made,
        job.processed_by,
        job.failed_reason,
    ]
