"""``bullrush bench``: runs the benchmarks of a checkout. They are not in the installed package."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path


def run(arguments: Sequence[str]) -> int:
    """Run the benchmarks of the checkout that contains this package or the working directory."""
    checkout = _checkout()
    if checkout is None:
        return _refuse("the benchmarks are not in the installed package: get a checkout of bullrush and run this in it")
    sys.path.insert(0, str(checkout))
    try:
        command = import_module("benches.command")
    except ModuleNotFoundError as missing:
        return _refuse(f"the benchmarks need {missing.name}: pip install --group bench, or make bench")
    code: int = command.main(arguments)
    return code


def _checkout() -> Path | None:
    places = (Path(__file__).resolve().parents[3], Path.cwd())
    return next((place for place in places if (place / "benches" / "command.py").is_file()), None)


def _refuse(reason: str) -> int:
    sys.stderr.write(f"bullrush bench: {reason}\n")
    return 2
