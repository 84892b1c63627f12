"""Asking before something is lost, and showing how far a long call is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from bullrush.cli.terminal.ending import FAILED, USAGE, CommandError
from bullrush.cli.terminal.visible import visible

T = TypeVar("T")


def add_yes(parser: argparse.ArgumentParser) -> None:
    """Add the option that answers all questions."""
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")


def confirm(options: argparse.Namespace, question: str) -> None:
    """Ask, unless ``--yes`` was given.

    Raises:
        CommandError: the answer is no, or nobody can answer.
    """
    if options.yes:
        return
    if not sys.stdin.isatty():
        raise CommandError(f"{question} Nobody can be asked here: --yes is needed", USAGE)
    sys.stderr.write(f"{visible(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise CommandError("nothing was changed", FAILED)


def progress(items: Iterable[T], total: int, title: str) -> Iterator[T]:
    """Iterate over items, of which there are so many, and show on a terminal how many are done."""
    if not sys.stderr.isatty() or total < 2:
        yield from items
        return
    try:
        from rich.console import Console
        from rich.progress import track
    except ModuleNotFoundError:
        yield from _counted(items, total, title)
    else:
        yield from track(items, description=title, total=total, console=Console(stderr=True))


def _counted(items: Iterable[T], total: int, title: str) -> Iterator[T]:
    step = max(1, total // 100)
    for number, item in enumerate(items, 1):
        yield item
        if number % step == 0 or number == total:
            sys.stderr.write(f"\r{title} {number}/{total}")
            sys.stderr.flush()
    sys.stderr.write("\n")
