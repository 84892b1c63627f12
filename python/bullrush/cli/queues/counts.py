"""``bullrush counts``: the number of jobs per state."""

from __future__ import annotations

import argparse

from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import write_json, write_table

EXAMPLES = """\
  bullrush counts mail
  bullrush counts mail waiting failed --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("states", nargs="*", metavar="STATE", help="only these states (default: all)")


def run(options: argparse.Namespace) -> int:
    """Print the counts. JSON: an object of numbers by state."""
    counts = known_queue(options).get_job_counts(*options.states)
    if options.json:
        write_json(counts)
    else:
        write_table(["state", "jobs"], list(counts.items()))
    return 0
