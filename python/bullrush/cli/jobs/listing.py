"""``bullrush jobs list``: the jobs of a queue, by state and by what they contain."""

from __future__ import annotations

import argparse
from itertools import islice
from typing import Final

from bullrush.cli.jobs.selection import STATES, Found, add_filters, find, is_filtered
from bullrush.cli.terminal.options import add_queue, count, known_queue
from bullrush.cli.terminal.output import age, say, write_json, write_table
from bullrush.errors import MalformedJobError
from bullrush.extending import JSON
from bullrush.job import Job

EXAMPLES = """\
  bullrush jobs list mail
  bullrush jobs list mail --state failed --limit 100
  bullrush jobs list mail --id 'order-*' --name welcome
  bullrush jobs list mail --error '*timed out*'
  bullrush jobs list mail --data ada@example.org
  bullrush jobs list mail --state failed --where 'data.user.id:17 failed<1h attempt>2'
  bullrush jobs list mail --json | jq -r '.[].failed_reason'"""

_DEFAULT_LIMIT: Final = 50
#: The column of the worker, which is only there if one of the jobs has run in a worker with a name.
_WORKER: Final = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    add_filters(parser)
    parser.add_argument(
        "--limit", type=count, default=_DEFAULT_LIMIT, metavar="N", help=f"at most N jobs (default: {_DEFAULT_LIMIT})"
    )


def run(options: argparse.Namespace) -> int:
    """Print the jobs. JSON: a list of jobs as `Job.to_json` returns them, each with its ``state``."""
    queue = known_queue(options)
    states = options.state or [state for state in STATES if state != "paused"]
    found = list(islice(find(queue, options, states), options.limit + 1))
    more, found = len(found) > options.limit, found[: options.limit]
    if options.json:
        write_json([as_json(*one) for one in found])
    elif found:
        _print(found)
    else:
        say(f"No such job in {queue.name}." if options.state or is_filtered(options) else f"{queue.name} has no jobs.")
    if more:
        say(f"There are more than these {options.limit}: --limit N shows more.")
    return 0


def as_json(job: Job, state: str) -> dict[str, JSON]:
    """Return a job for programs. One that cannot be decoded has ``error`` instead of its attributes."""
    try:
        return {**job.to_json(), "state": state}
    except MalformedJobError as error:
        return {"id": job.id, "name": job.name, "state": state, "error": str(error)}


def _print(found: list[Found]) -> None:
    titles, rows = ["id", "name", "state", "added", "attempts", "worker", "reason"], [_row(one) for one in found]
    shown = [at for at in range(len(titles)) if at != _WORKER or any(row[at] is not None for row in rows)]
    write_table([titles[at] for at in shown], [[row[at] for at in shown] for row in rows])


def _row(found: Found) -> list[object]:
    job, state = found
    passed = age(job.timestamp)
    return [job.id, job.name, state, passed and f"{passed} ago", job.attempts_made, job.processed_by, job.failed_reason]
