"""The jobs of the suite: the number of a job says what it does and how it ends, so nothing has to be remembered."""

from typing import Any, NamedTuple


class Kind(NamedTuple):
    """What a job does, in the form of BullMQ, and how it must end."""

    data: dict[str, Any]
    opts: dict[str, Any]
    #: The outcomes that are right.
    ends: frozenset[str]
    #: How many attempts it takes.
    attempts: int
    #: The id is chosen by the producer; otherwise Redis counts.
    own_id: bool


COMPLETED, FAILED = frozenset(["completed"]), frozenset(["failed"])

#: ms that a long job takes: longer than what is left of a lock when its worker is suspended.
LONG_MS = 2500


def kind_of(n: int) -> Kind:
    """Return what the job with this number does."""
    data: dict[str, Any] = {"ms": n % 4}
    opts: dict[str, Any] = {}
    ends, attempts = COMPLETED, 1
    match n % 50:
        case 0:
            data["fails"], opts, attempts = 1, {"attempts": 3}, 2
        case 1:
            data["fails"], attempts = 2, 3
            opts = {"attempts": 3, "backoff": {"type": "fixed", "delay": 50}}
        case 2:
            data["fails"], opts, ends, attempts = 9, {"attempts": 2}, FAILED, 2
        case 3:
            data["hopeless"], opts, ends = True, {"attempts": 5}, FAILED
        case 4 | 5:
            opts = {"priority": 1 + n % 3}
        case 6 | 7:
            opts = {"delay": n % 400}
        case 8:
            opts = {"lifo": True}
        case 9:
            data["ms"] = 150
        case 10 if n % 500 == 10:
            data["ms"] = LONG_MS
        case 11 if n % 500 == 11:
            data["forks"] = True
    # BullMQ for Node sends a call again when its connection breaks, so only its own ids are safe there.
    return Kind(data, opts, ends, attempts, own_id=n % 2 == 0)


def flow_of(key: str, queue: str) -> dict[str, Any]:
    """Return a flow, in the form of BullMQ: a parent with two children, known by ``key``, ``key/1`` and ``key/2``.

    The parent also runs when a child has failed: BullMQ for Node fails one whose completion a slot that moves refuses.
    """

    def node(name: str, opts: dict[str, Any], **more: Any) -> dict[str, Any]:
        opts = {"jobId": name.replace("/", "-"), **opts}
        return {"name": "node", "queueName": queue, "data": {"k": name, "ms": 1}, "opts": opts, **more}

    child_opts = {"ignoreDependencyOnFailure": True}
    return node(key, {}, children=[node(f"{key}/1", child_opts), node(f"{key}/2", child_opts)])


def number_of(key: str) -> int | None:
    """Return the number of a job by its key, None for a job that must simply complete."""
    last = key.rpartition("-")[2]
    return int(last) if last.isdigit() else None


def expected_end(key: str) -> tuple[frozenset[str], int]:
    """Return how a job must end, and the attempts it takes.

    Those of a flow, and those that a fault adds, must complete.
    """
    number = number_of(key)
    if number is None or key.startswith(("flow", "fault")):
        return COMPLETED, 1
    kind = kind_of(number)
    return kind.ends, kind.attempts
