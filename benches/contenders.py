"""The contenders: how the peers start, and their names in all tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

from benches.harness.contender import Contender
from benches.harness.installing import GO, RUST, python_of

NODE = "BullMQ for Node"
NODE_6 = "BullMQ 6 for Node"
PYTHON = "BullMQ for Python"
LIMIT = "limit: encoded commands, plain socket"

_NODE = ("node", "benches/peers/bullmq_node.js", "bullmq5")
_NODE_6 = ("node", "benches/peers/bullmq_node.js", "bullmq6")
_PYTHON = (sys.executable, "-m", "benches.peers", "bullmq_python")
_LIMIT = (sys.executable, "-m", "benches.peers", "raw_client")
_BULLRUSH = (sys.executable, "-m", "benches.peers", "bullrush_peer")


def node(task: str, share: float = 1.0, **options: object) -> Contender:
    """Return BullMQ 5.62.0 for Node, with which all others are compared."""
    return Contender(NODE, _NODE, task, options, share)


def node_6(task: str, share: float = 1.0, **options: object) -> Contender:
    """Return the newest BullMQ for Node."""
    return Contender(NODE_6, _NODE_6, task, options, share)


def official_python(task: str, share: float = 1.0, **options: object) -> Contender:
    """Return BullMQ's own port to Python."""
    return Contender(PYTHON, _PYTHON, task, options, share)


def bullmq(task: str, python_share: float = 1.0, **options: object) -> tuple[Contender, ...]:
    """Return BullMQ's own clients of most questions: both for Node and the port to Python."""
    return (node(task, 1.0, **options), node_6(task, 1.0, **options), official_python(task, python_share, **options))


def bullrush(variant: str, task: str, options: Mapping[str, object] | None = None, share: float = 1.0) -> Contender:
    """Return a way to use bullrush."""
    return Contender(f"bullrush, {variant}", _BULLRUSH, task, options or {}, share)


def bullrush_worker(variant: str, handler: str = "def", share: float = 1.0, **worker: object) -> Contender:
    """Return a worker of bullrush that does nothing with its jobs."""
    return bullrush(variant, "process", {"handler": handler, "worker": worker}, share)


def bullrush_workers(concurrency: int) -> tuple[Contender, ...]:
    """Return the two kinds of workers of most questions."""
    return (
        bullrush_worker("def", concurrency=concurrency),
        bullrush_worker("async def", "async def", concurrency=concurrency),
    )


def variant(contender: Contender, addition: str, **changes: object) -> Contender:
    """Return a contender with one difference, which its name has."""
    return replace(contender, name=f"{contender.name}, {addition}", **changes)  # type: ignore[arg-type]


def limit(task: str, share: float = 1.0, **options: object) -> Contender:
    """Return what Redis itself can do with bullrush's scripts."""
    return Contender(LIMIT, _LIMIT, task, options, share, limit=True)


def rust(task: str, share: float = 1.0, **options: object) -> Contender:
    """Return BullMQ's own port to Rust. Its ``add_bulk`` adds jobs concurrently, so it does not keep their order."""
    return Contender("BullMQ for Rust", (str(RUST),), task, options, share, ordered=False, extra=True)


#: Queues with another key layout: module and rough speed, so that a round takes about the same time for all.
_OTHERS = {
    "RQ": ("rq", 0.02),
    "Celery": ("celery", 0.05),
    "Dramatiq": ("dramatiq", 0.05),
    "Huey": ("huey", 0.1),
    "arq": ("arq", 0.05),
    "SAQ": ("saq", 0.05),
    "streaq": ("streaq", 0.05),
    "Taskiq": ("taskiq", 0.05),
    "ArdiQ": ("ardiq", 0.1),
    "ChasquiMQ": ("chasquimq", 0.5),
}


def others(task: str, share: float = 1.0, **options: object) -> tuple[Contender, ...]:
    """Return the other queues on Redis: Asynq for Go and those for Python."""
    asynq = Contender("Asynq", (str(GO),), task, options, 0.25 * share, foreign=True, extra=True)
    return (
        asynq,
        *(
            Contender(name, _other(module), task, options, speed * share, foreign=True, extra=True)
            for name, (module, speed) in _OTHERS.items()
        ),
    )


def _other(module: str) -> tuple[str, ...]:
    return (str(python_of(module)), "-m", "benches.peers", f"{module}_peer")
