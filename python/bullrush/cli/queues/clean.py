"""``bullrush clean``: removes old jobs of a state."""

from __future__ import annotations

import argparse
from typing import get_args

from bullrush.cli.terminal.asking import add_yes, confirm
from bullrush.cli.terminal.options import add_queue, count, duration, known_queue
from bullrush.cli.terminal.output import jobs_of, write, write_json
from bullrush.queue import CleanableState

EXAMPLES = """\
  bullrush clean mail --state failed --older 7d
  bullrush clean mail --older 1h --limit 1000 --yes    completed jobs, the oldest 1,000
  bullrush clean mail --older 7d --routes              with jobs that had a target, also of machines that have gone"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("--state", choices=get_args(CleanableState), default="completed", help="default: completed")
    parser.add_argument(
        "--older", type=duration, default=0, metavar="TIME", help="only jobs older than 30s, 10m, 2h, 7d"
    )
    parser.add_argument(
        "--limit", type=count, default=0, metavar="N", help="at most N jobs, oldest first (default: all)"
    )
    parser.add_argument(
        "--routes", action="store_true", help="also the jobs of the queue's routes; --limit is for each of them"
    )
    add_yes(parser)


def run(options: argparse.Namespace) -> int:
    """Remove the jobs. JSON: ``{"queue": name, "removed": [job id...]}``."""
    queue = known_queue(options)
    found = sum(queue.get_job_counts(options.state, routes=options.routes).values())
    whose = f"{queue.name} and its routes" if options.routes else queue.name
    confirm(options, f"Remove {options.state} jobs of {whose} (there are {found:,}, of any age)?")
    removed = queue.clean(options.older, options.limit, options.state, routes=options.routes)
    if options.json:
        write_json({"queue": queue.name, "removed": removed})
    else:
        write(f"{jobs_of(len(removed))} removed from {whose}.")
    return 0
