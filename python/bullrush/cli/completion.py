"""``bullrush completion``: prints the completion of the command line for a shell."""

from __future__ import annotations

import argparse
import sys

from bullrush.cli.registry import COMMANDS, build_parser
from bullrush.cli.terminal.ending import USAGE, CommandError

EXAMPLES = """\
  bullrush completion bash > ~/.local/share/bash-completion/completions/bullrush
  bullrush completion zsh > ~/.zfunc/_bullrush"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell")


def run(options: argparse.Namespace) -> int:
    """Print the completion."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise CommandError("completion needs shtab: pip install 'bullrush[cli]'", USAGE) from None
    sys.stdout.write(shtab.complete(build_parser(*COMMANDS), options.shell))
    return 0
