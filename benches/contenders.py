"""Who is compared: how the peers start, and what they are called in all tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from benches.harness.question import Contender

NODE = "BullMQ for Node"
PYTHON = "BullMQ for Python"

_NODE = ("node", "benches/peers/bullmq_node.js", "bullmq5")
_PYTHON = (sys.executable, "-m", "benches.peers.bullmq_python")
_BULLRUSH = (sys.executable, "-m", "benches.peers.bullrush_peer")


def node(task: str, share: float = 1.0, **options: object) -> Contender:
    """Return BullMQ 5.62.0 for Node, what all others are compared with."""
    return Contender(NODE, _NODE, task, options, share)


def official_python(task: str, share: float = 1.0, **options: object) -> Contender:
    """Return BullMQ's own port to Python."""
    return Contender(PYTHON, _PYTHON, task, options, share)


def bullrush(variant: str, task: str, options: Mapping[str, object] | None = None, share: float = 1.0) -> Contender:
    """Return a way to use bullrush."""
    return Contender(f"bullrush, {variant}", _BULLRUSH, task, options or {}, share)
