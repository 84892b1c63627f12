"""``bullrush drain``: removes the jobs that wait."""

from __future__ import annotations

import argparse

from bullrush.cli.terminal.asking import add_yes, confirm
from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import jobs_of, write, write_json

EXAMPLES = """\
  bullrush drain mail              waiting and prioritized jobs, also of its routes
  bullrush drain mail --delayed    delayed ones, too
  bullrush drain mail --yes        without a question, for scripts"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("--delayed", action="store_true", help="also delayed jobs; the next jobs of schedulers stay")
    add_yes(parser)


def run(options: argparse.Namespace) -> int:
    """Remove the jobs. JSON: ``{"queue": name, "removed": number}``."""
    queue = known_queue(options)
    states = ("waiting", "paused", "prioritized", *(("delayed",) if options.delayed else ()))
    before = sum(queue.get_job_counts(*states, routes=True).values())
    confirm(options, f"Remove what waits in {queue.name}: {jobs_of(before)}?")
    queue.drain(options.delayed)
    removed = max(0, before - sum(queue.get_job_counts(*states, routes=True).values()))
    if options.json:
        write_json({"queue": queue.name, "removed": removed})
    else:
        write(f"{jobs_of(removed)} removed from {queue.name}.")
    return 0
