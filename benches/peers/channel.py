"""A Python peer's side of the conversation with the harness (see `benches.harness.peer`)."""

from __future__ import annotations

import json
import sys
from typing import Any


def introduce(identity: str) -> None:
    """Say who this is: name and versions."""
    _say(json.dumps({"identity": identity}))


def next_order() -> dict[str, Any] | None:
    """Wait for an order; None: there are no more."""
    line = sys.stdin.readline()
    order: dict[str, Any] | None = json.loads(line) if line else None
    return order


def ready() -> None:
    """Say that all is prepared, and wait for the start."""
    _say("ready")
    _hear("go")


def wait_for_stop() -> None:
    """Wait until a worker is to close."""
    _hear("stop")


def done(**facts: object) -> None:
    """Say that the work is done."""
    _say(f"done {json.dumps(facts)}")


def _say(line: str) -> None:
    print(line, flush=True)


def _hear(word: str) -> None:
    heard = sys.stdin.readline().strip()
    if heard != word:
        sys.exit(f"expected {word!r}, got {heard!r}")
