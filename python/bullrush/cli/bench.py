"""``bullrush bench``: runs the benchmarks of a checkout. They are not in the installed package."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

from bullrush.cli.terminal.ending import USAGE, CommandError

EXAMPLES = "  bullrush bench --help"


def configure(parser: argparse.ArgumentParser) -> None:
    """Take all words as they are: the benchmarks parse them."""
    parser.add_argument("words", nargs="*")


def run(options: argparse.Namespace) -> int:
    """Run the benchmarks of the checkout that contains this package or the working directory."""
    checkout = _checkout()
    if checkout is None:
        raise CommandError(
            "the benchmarks are not in the installed package: get a checkout of bullrush and run this in it", USAGE
        )
    sys.path.insert(0, str(checkout))
    try:
        command = import_module("benches.command")
    except ModuleNotFoundError as missing:
        raise CommandError(
            f"the benchmarks need {missing.name}: pip install --group bench, or make bench", USAGE
        ) from None
    code: int = command.main(options.words)
    return code


def _checkout() -> Path | None:
    places = (Path(__file__).resolve().parents[3], Path.cwd())
    return next((place for place in places if (place / "benches" / "command.py").is_file()), None)
