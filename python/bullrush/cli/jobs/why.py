"""``bullrush why``: why a job does not run, or what happened to it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Final

from bullrush.cli.terminal.ending import FAILED
from bullrush.cli.terminal.options import add_queue, known_queue
from bullrush.cli.terminal.output import write, write_json

EXAMPLES = """\
  bullrush why mail 17
  bullrush why mail 17 --json | jq -r '.reasons[0]'"""

_NOT_FOUND: Final = "unknown"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    parser.add_argument("job", metavar="ID", help="the job's id")


def run(options: argparse.Namespace) -> int:
    """Print the sentence. JSON: the fields of `bullrush.inspection.Why`. The exit code is 1 if the job is nowhere."""
    found = known_queue(options).why(options.job)
    if options.json:
        write_json(asdict(found))
    else:
        write(f"{found.queue} {found.job_id} ({found.state}): {found.sentence}")
    return FAILED if found.state == _NOT_FOUND else 0
