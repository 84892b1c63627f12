"""``bullrush add``: adds a job."""

from __future__ import annotations

import argparse

from bullrush.cli.jobs.given import DATA, given_json, parsed_json
from bullrush.cli.terminal.ending import USAGE, CommandError
from bullrush.cli.terminal.options import add_connection, duration, url_of
from bullrush.cli.terminal.output import write, write_json
from bullrush.queue import Queue

EXAMPLES = """\
  bullrush add mail welcome '{"user": 7}'
  bullrush add mail welcome '{"user": 7}' --delay 10m --attempts 3 --backoff 30s
  bullrush add mail digest @users.json --job-id digest-2026-05
  jq -n '{user: 7}' | bullrush add mail welcome -
  bullrush add mail welcome --options '{"deduplication": {"id": "user-7", "ttl": 5000}}'
  bullrush add video encode --options '{"target": {"capabilities": ["gpu"]}}'"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("queue", metavar="QUEUE", help="the queue's name; a queue begins with its first job")
    parser.add_argument("name", metavar="NAME", help="the job's name")
    parser.add_argument("data", metavar="DATA", nargs="?", default="{}", help=DATA)
    add_connection(parser)
    group = parser.add_argument_group("options of the job")
    group.add_argument("--delay", type=duration, metavar="TIME", help="do not run before 30s, 10m, 2h...")
    group.add_argument(
        "--priority", type=int, metavar="N", help="1 is the most urgent; 0, the default, runs before all"
    )
    group.add_argument("--attempts", type=int, metavar="N", help="how often to try in all")
    group.add_argument("--backoff", type=duration, metavar="TIME", help="the time between two attempts")
    group.add_argument("--job-id", metavar="ID", help="an id of your own; an existing job is not added again")
    group.add_argument(
        "--lifo", action="store_true", default=None, help="run it before the jobs that wait; ignored beside --priority"
    )
    group.add_argument("--durable", action="store_true", help="wait until a replica or the disk has the job")
    group.add_argument("--options", metavar="JSON", help="further options by the names of Queue.add, as a JSON object")


def run(options: argparse.Namespace) -> int:
    """Add the job. JSON: the job as `Job.to_json` returns it."""
    names = ("delay", "priority", "attempts", "backoff", "job_id", "lifo")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    further = {} if options.options is None else parsed_json(options.options, "--options")
    if not isinstance(further, dict):
        raise CommandError("--options must be a JSON object", USAGE)
    data = given_json(options.data)
    with Queue(
        options.queue, url=url_of(options), prefix=options.prefix, timeout=options.timeout, durable=options.durable
    ) as queue:
        job = queue.add(options.name, data, **{**further, **given})
    if options.json:
        write_json(job.to_json())
    else:
        write(job.id)
    return 0
