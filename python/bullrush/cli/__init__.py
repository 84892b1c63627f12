"""The command ``bullrush``.

Each of its commands is a module of this package, which is imported when the command is called.

The module of a command has ``run(arguments) -> int``: it parses its arguments, calls the library, prints, and returns
the exit code.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

#: The commands and what they do. A command has the name of its module.
COMMANDS = {"bench": "compare bullrush with BullMQ and other queues on this machine"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; 2 if there is no such command.

    Args:
        arguments: the words after ``bullrush``; those of the process by default.
    """
    parser = argparse.ArgumentParser(
        prog="bullrush",
        description="A job queue that speaks the BullMQ wire protocol.",
        epilog="\n".join(("commands:", *(f"  {name:8} {summary}" for name, summary in COMMANDS.items()))),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"bullrush {version('bullrush')}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="see below")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="COMMAND --help tells which")
    options = parser.parse_args(arguments)
    found: int = import_module(f"bullrush.cli.{options.command}").run(options.arguments)
    return found
