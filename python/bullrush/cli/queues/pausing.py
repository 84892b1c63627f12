"""``bullrush pause`` and ``bullrush resume``."""

from __future__ import annotations

import argparse

from bullrush.cli.terminal.options import add_new, add_queue, known_queue
from bullrush.cli.terminal.output import write, write_json

EXAMPLES = """\
  bullrush pause mail      running jobs are finished, no others are started
  bullrush resume mail"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_queue(parser)
    add_new(parser)


def run(options: argparse.Namespace) -> int:
    """Pause or resume. JSON: ``{"queue": name, "paused": bool}``."""
    queue = known_queue(options)
    if options.command == "pause":
        queue.pause()
    else:
        queue.resume()
    if options.json:
        write_json({"queue": queue.name, "paused": queue.is_paused()})
    else:
        write(f"{queue.name} is {'paused' if options.command == 'pause' else 'running'}.")
    return 0
