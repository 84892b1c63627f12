"""The command ``bullrush``.

Each of its commands is a module of this package, which is imported when the command is called.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence

from bullrush.cli.registry import COMMANDS, build_parser, hint_for, load
from bullrush.cli.terminal.ending import guarded
from bullrush.cli.terminal.streams import open_missing, show_every_character
from bullrush.errors import LegacyQueueError

__all__ = ["COMMANDS", "guarded", "load", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 failed or not found, 2 wrong usage, 3 no Redis.

    Args:
        arguments: the words after ``bullrush``; those of the process by default.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    asked = next((word for word in words if not word.startswith("-")), "")
    open_missing()
    show_every_character()
    parser = build_parser(asked)
    options, left = parser.parse_known_args(words)
    # That of the command or of its verb: its usage shows what is allowed.
    parser = vars(options).pop("parser")
    # argparse has no ids left for `retry mail --json 17`: it takes none at once, where `17` might have stood.
    ids = getattr(options, "ids", None)
    if left and (ids is None or any(word.startswith("-") for word in left)):
        parser.error(f"unrecognized arguments: {' '.join(left)}{hint_for(left)}")
    if ids is not None:
        ids += left
    return guarded(lambda: _run(options), options.command)


def _run(options: Namespace) -> int:
    try:
        code: int = load(options.command).run(options)
    except LegacyQueueError as error:
        from bullrush.cli.queues.of_bull import as_advice  # only then, since it takes its time

        raise as_advice(error, options) from None
    return code
