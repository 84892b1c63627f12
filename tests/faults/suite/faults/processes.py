"""Faults of processes."""

import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ..jobs import LONG_MS
from ..processes import LOCK_MS, STALLED_INTERVAL_MS, Process
from .fault import Made

if TYPE_CHECKING:
    from ..round import Round


def some_worker(round: "Round", chance: random.Random, *, ours: bool = False) -> Process | None:
    """Return a worker that has begun a job and still runs, None if there is none now."""
    living = [one for one in round.processes.living() if one.name != round.odd_name and one.followed.has_begun()]
    living = [one for one in living if one.is_ours or not ours]
    return chance.choice(living) if living else None


def killed(round: "Round", chance: random.Random) -> Made:
    if not (victim := some_worker(round, chance)):
        return Made(void=True)
    with round.processes.changing:
        victim.kill()
        round.processes.replace(victim)
    return Made([victim.name])


def suspended(round: "Round", chance: random.Random) -> Made:
    """For less than its locks last."""
    if not (victim := some_worker(round, chance)):
        return Made(void=True)
    victim.suspend()
    return Made([victim.name], chance.uniform(0.3, LOCK_MS / 2000), victim.go_on)


def suspended_past_locks(round: "Round", chance: random.Random) -> Made:
    """Another worker takes its jobs; it goes on while that one runs them, and its own outcomes must be refused."""
    if not (victim := some_worker(round, chance, ours=True)):
        return Made(void=True)
    keys = round.add(50, {"ms": LONG_MS})
    deadline = time.monotonic() + 8
    while not (mine := round.begun_by(victim) & keys) and time.monotonic() < deadline and victim.alive:
        time.sleep(0.05)
    if not mine or not victim.alive:
        return Made(void=True)
    victim.suspend()
    seconds = (LOCK_MS + 3 * STALLED_INTERVAL_MS) / 1000 + 3
    return Made([victim.name], seconds, victim.go_on, lambda: bool(round.begun_elsewhere(victim) & mine))


def terminated(round: "Round", chance: random.Random) -> Made:
    """It finishes what it runs and ends; another one follows, as when a new version is deployed."""
    if not (victim := some_worker(round, chance)):
        return Made(void=True)
    with round.processes.changing:
        victim.terminate()
        round.leaving.append(victim)
        round.processes.replace(victim)
    return Made([victim.name])


def producer_killed(round: "Round", chance: random.Random) -> Made:
    living = [one for one in round.processes.producers if one.alive and one.followed.has_begun()]
    if not living:
        return Made(void=True)
    victim = chance.choice(living)
    victim.kill()
    round.processes.producers.remove(victim)
    round.start_producer(victim.kind)
    return Made([victim.name])


def clock_steps(round: "Round", chance: random.Random) -> Made:
    """Forward or back by up to 4 s, and back again after a while."""
    if not (victim := some_worker(round, chance)) or not (clock := victim.clock):
        return Made(void=True)
    clock.set(chance.choice((-1, 1)) * chance.randrange(200, 4000))

    def undo() -> None:
        with suppress(ValueError):  # the round is over
            clock.set(0)

    return Made([victim.name], chance.uniform(1, 4), undo)
