"""One sequence of steps, done by two sides on two key spaces that are compared after every step."""

from collections.abc import Callable
from typing import Any

import redis

from .state import State, by_job, differences, read_state

#: Where the stopped clock starts: any moment that is not the present.
EPOCH = 1_800_000_000_000


class StateDiffers(AssertionError):
    """The two key spaces, or the results of a step, are not the same."""


class Pair:
    """Sends each step to both sides and compares their results and their key spaces.

    Every method of a side is a step: ``pair.add("work", {"n": 1})``. Steps that start with ``foreign_`` are done by
    real BullMQ on both key spaces, for state that our side only has to respect.
    """

    def __init__(
        self,
        expected: Any,
        actual: Any,
        foreign: tuple[Any, Any],
        clients: tuple["redis.Redis[str]", "redis.Redis[str]"],
        stem: str,
    ) -> None:
        self._sides = (expected, actual)
        self._foreign = foreign
        self._clients = clients
        self._stem = stem
        self._history: list[str] = []
        self.batched = False
        self.now = EPOCH
        self.tick(0)
        for side in self._sides:
            side.prepare()

    def tick(self, ms: int) -> None:
        """Move both clocks on."""
        self.now += ms
        for side in (*self._sides, *self._foreign):
            side.set_clock(self.now)

    def expire(self, suffix: str) -> None:
        """Delete ``<queue>:<suffix>`` on both sides, as Redis does when its TTL has run out."""
        self._history.append(f"expire {suffix}")
        for client in self._clients:
            client.delete(f"{self._stem}:{suffix}")

    def command(self, *args: Any) -> None:
        """Run a plain command on both sides; ``{P}`` in an argument stands for the queue's prefix."""
        self._history.append(f"command {args}")
        for client in self._clients:
            client.execute_command(*(str(arg).replace("{P}", f"{self._stem}:") for arg in args))

    def __getattr__(self, step: str) -> Callable[..., Any]:
        if step.startswith("foreign_"):
            return lambda *args, **kwargs: self._step(self._foreign, step.removeprefix("foreign_"), args, kwargs)
        return lambda *args, **kwargs: self._step(self._sides, step, args, kwargs)

    def _step(self, sides: tuple[Any, Any], step: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        shown = ", ".join([*map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())])
        self._history.append(f"{step}({shown})")
        expected, actual = (getattr(side, step)(*args, **kwargs) for side in sides)
        self._compare(expected, actual)
        return expected

    def _compare(self, expected: Any, actual: Any) -> None:
        found = [*differences(expected, actual, "result"), *differences(*self.states())]
        if found:
            steps = "\n".join(f"  {number}. {step}" for number, step in enumerate(self._history, 1))
            raise StateDiffers(f"after\n{steps}\n" + "\n".join(f"    {line}" for line in found))

    def states(self) -> tuple[State, State]:
        """Read both key spaces."""
        expected, actual = (read_state(client, self._stem) for client in self._clients)
        return (by_job(expected), by_job(actual)) if self.batched else (expected, actual)
