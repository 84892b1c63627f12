"""``bullrush jobs update``: replaces the data of a job."""

from __future__ import annotations

import argparse

from bullrush.cli.jobs.given import DATA, given_json
from bullrush.cli.jobs.show import found_job
from bullrush.cli.terminal.ending import CommandError, code_of
from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import say, write, write_json
from bullrush.errors import BullrushError
from bullrush.job import Job

EXAMPLES = """\
  bullrush jobs update mail 17 '{"user": 7}'
  bullrush jobs update mail 17 '{"user": 7}' --retry      runs it again if it has failed or completed
  bullrush jobs show mail 17 --json | jq '.data | .user = 7' | bullrush jobs update mail 17 -"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("job", metavar="ID", help="the job's id")
    parser.add_argument("data", metavar="DATA", help=f"all of the new data: {DATA}")
    parser.add_argument("--retry", action="store_true", help="also run the job again if it has failed or completed")


def run(options: argparse.Namespace) -> int:
    """Replace the data. JSON: ``{"queue": name, "id": id, "state": the state before a retry, "retried": bool}``."""
    data = given_json(options.data)
    queue = known_queue(options)
    job = found_job(queue, options.job)
    job.update_data(data)
    state = job.get_state()
    retried = options.retry and _retried(job, state)
    if options.json:
        write_json({"queue": queue.name, "id": job.id, "state": state, "retried": retried})
        return 0
    write(f"The data of job {job.id} was replaced.{' The job was retried.' if retried else ''}")
    if not retried and state in {"failed", "completed"}:
        say(f"It stays {state}; 'bullrush jobs retry {queue.name} {job.id} --state {state}' runs it again.")
    elif state == "active":
        say("It is active: the attempt that runs has the old data, a later one has the new data.")
    return 0


def _retried(job: Job, state: str) -> bool:
    """Retry a job that has ended; return whether it had."""
    if state not in {"failed", "completed"}:
        return False
    try:
        job.retry("completed" if state == "completed" else "failed")
    except BullrushError as error:
        raise CommandError(f"the data was replaced, but the job was not retried: {error}", code_of(error)) from None
    return True
