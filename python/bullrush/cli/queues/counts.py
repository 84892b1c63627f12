"""``bullrush counts``: the number of jobs per state."""

from __future__ import annotations

import argparse

from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import write_json, write_table

EXAMPLES = """\
  bullrush counts mail
  bullrush counts mail waiting failed --json
  bullrush counts mail --routes    with the jobs that have a target"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("states", nargs="*", metavar="STATE", help="only these states (default: all)")
    parser.add_argument("--routes", action="store_true", help="with the jobs of the queue's routes")


def run(options: argparse.Namespace) -> int:
    """Print the counts. JSON: an object of numbers by state."""
    counts = known_queue(options).get_job_counts(*options.states, routes=options.routes)
    if options.json:
        write_json(counts)
    else:
        write_table(["state", "jobs"], list(counts.items()))
    return 0
