"""``bullrush schedulers``: the job schedulers of a queue."""

from __future__ import annotations

import argparse

from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import moment, say, write_json, write_table

EXAMPLES = """\
  bullrush schedulers mail
  bullrush schedulers mail --json | jq '.[].pattern'"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)


def run(options: argparse.Namespace) -> int:
    """Print the schedulers, the next due first. JSON: a list of `SchedulerJson`."""
    found = known_queue(options).get_job_schedulers(asc=True)
    if options.json:
        write_json(found)
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
                moment(scheduler["next"]),
                scheduler.get("iteration_count"),
            ]
            for scheduler in found
        ]
        write_table(titles, rows)
    return 0
