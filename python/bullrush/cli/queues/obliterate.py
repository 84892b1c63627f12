"""``bullrush obliterate``: removes a queue."""

from __future__ import annotations

import argparse

from bullrush.cli.terminal.asking import add_yes, confirm
from bullrush.cli.terminal.ending import CommandError
from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import jobs_of, write, write_json

EXAMPLES = """\
  bullrush obliterate mail            asks first; refused while jobs run; its routes go, too
  bullrush obliterate mail --force    also if jobs run"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("--force", action="store_true", help="also if jobs are active")
    add_yes(parser)


def run(options: argparse.Namespace) -> int:
    """Remove the queue. JSON: ``{"queue": name, "removed": number of jobs}``."""
    queue = known_queue(options)
    # Asked here, since a refused obliterate() leaves the queue paused.
    if not options.force and (active := queue.get_job_counts("active", routes=True)["active"]):
        raise CommandError(
            f"{queue.name} has {active:,} active jobs: wait for them, or add --force; nothing was changed"
        )
    jobs = sum(queue.get_job_counts(routes=True).values())
    confirm(options, f"Remove the queue {queue.name} with its {jobs_of(jobs)}, logs and schedulers?")
    queue.obliterate(force=options.force)
    if options.json:
        write_json({"queue": queue.name, "removed": jobs})
    else:
        write(f"The queue {queue.name} is gone, with {jobs_of(jobs)}.")
    return 0
