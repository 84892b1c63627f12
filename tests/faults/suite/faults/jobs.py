"""Faults that jobs make: they end their process, fork it, or cannot be read."""

import random
import time
from typing import TYPE_CHECKING

from .fault import Made

if TYPE_CHECKING:
    from ..round import Round


def crash(round: "Round", chance: random.Random) -> Made:
    """A job ends its process the first time it runs, with an exit code or with a signal."""
    return _ending(round, {chance.choice(("exits_once", "kills_once")): True})


def out_of_memory(round: "Round", chance: random.Random) -> Made:
    """A job takes all memory that its process may have; then the process ends as the kernel ends it."""
    del chance
    return _ending(round, {"hungry_once": True})


def _ending(round: "Round", data: dict[str, object]) -> Made:
    keys = round.add(1, data, deadly=True)
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        for process in list(round.processes.all):
            if not process.alive and keys & round.begun_by(process):
                return Made([process.name])
        time.sleep(0.05)
    return Made([], void=True)  # it waits behind others; the driver notes the end of the process when it comes


def fork(round: "Round", chance: random.Random) -> Made:
    """Jobs use the queue in a forked child of their worker."""
    del chance
    round.add(3, {"forks": True})
    return Made([])


def poison(round: "Round", chance: random.Random) -> Made:
    """A job ends its process each time it runs; in the end it must fail."""
    del chance
    key = round.odd_job({"kills": True}, expected="failed")
    return Made([round.odd_name], 25, until=lambda: round.odd_state(key) is not None)


#: How fields of a job's hash are damaged: a field and what it becomes, None for its removal.
DAMAGES: tuple[tuple[str, str | None], ...] = (
    ("data", "{"),
    ("data", None),
    ("opts", "[1,"),
    ("opts", None),
    ("timestamp", "soon"),
    ("delay", "-x"),
    ("priority", "high"),
    ("atm", "many"),
    ("ats", "many"),
    ("name", None),
    ("parent", "{no"),
    ("parentKey", "bull:gone:1"),
    ("returnvalue", "{"),
    ("stacktrace", "no list"),
    ("processedOn", "now"),
)


def damaged(round: "Round", chance: random.Random) -> Made:
    """The hash of a job is damaged before it runs; others of its queue must not suffer."""
    field, value = chance.choice(DAMAGES)
    round.odd_job({"ms": 0}, damage=(field, value))
    return Made([round.odd_name])
