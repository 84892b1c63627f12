"""``bullrush logs``: the log of a job."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Final

from bullrush.cli.jobs.show import found_job
from bullrush.cli.terminal.options import add_queue, count, known_queue
from bullrush.cli.terminal.output import write, write_json

EXAMPLES = """\
  bullrush logs mail 17
  bullrush logs mail 17 -f        follow it until the job has finished
  bullrush logs mail 17 -n 100    the last 100 rows"""

_POLL_SECONDS: Final = 0.3
_PAGE: Final = 1_000
_ENDED: Final = frozenset({"completed", "failed", "unknown"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("job", metavar="ID", help="the job's id")
    parser.add_argument("-f", "--follow", action="store_true", help="print new rows until the job has finished")
    parser.add_argument("-n", "--last", type=count, metavar="N", help="only the last N rows")


def run(options: argparse.Namespace) -> int:
    """Print the rows. JSON: a list of texts; with ``--follow`` one text per line."""
    queue = known_queue(options)
    job = found_job(queue, options.job)
    total = queue.get_job_logs(job.id, 0, 0)["count"]
    position = 0 if options.last is None else max(0, total - options.last)
    if options.json and not options.follow:
        write_json(queue.get_job_logs(job.id, position, -1)["logs"])
        return 0
    while True:
        # Before the rows: a job that has ended logs no more.
        ended = not options.follow or job.get_state() in _ENDED
        while rows := queue.get_job_logs(job.id, position, position + _PAGE - 1)["logs"]:
            position += len(rows)
            for row in rows:
                write_json(row, line=True) if options.json else write(row)
        sys.stdout.flush()
        if ended:
            return 0
        time.sleep(_POLL_SECONDS)
