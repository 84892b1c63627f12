"""Lanes: faults of one group follow each other, while those of all other groups happen at the same time."""

import random
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from redis import RedisError

from .faults import Fault
from .happened import Happened

if TYPE_CHECKING:
    from .round import Round


class Lane(threading.Thread):
    """Makes one fault after the other until the round has had enough."""

    def __init__(self, round: "Round", faults: Iterator[tuple[Fault, random.Random]], pause: float) -> None:
        super().__init__(daemon=True)
        self._round, self._faults, self._pause = round, faults, pause
        self.start()

    def run(self) -> None:
        for fault, chance in self._faults:
            if not self._round.wants_another():
                return
            began = time.monotonic()
            try:
                self._make(fault, chance)
            except Exception as error:
                self._round.give_up(f"{fault.name}: {type(error).__name__}: {error}")
            took = time.monotonic() - began if self._round.plan.one_by_one else 0.0
            self._round.enough.wait(max(0.0, chance.uniform(0, 2 * self._pause) - took))

    def _make(self, fault: Fault, chance: random.Random) -> None:
        round, began = self._round, time.monotonic()
        try:
            made = fault.begin(round, chance)
        except (RedisError, OSError, ValueError) as error:
            round.say(f"{fault.name} (void: {error})")  # another fault was in the way
            return
        ends = began + made.lasts
        while time.monotonic() < ends and not made.until() and not round.enough.wait(0.03):
            pass
        made.undo()
        ended = time.monotonic()
        round.say(f"{fault.name} {'(void)' if made.void else f'for {ended - began:.1f} s'}")
        if not made.void:
            victims = None if made.victims is None else frozenset(made.victims)
            round.happened.append(Happened(fault.name, began, ended, victims, made.may_lose))
