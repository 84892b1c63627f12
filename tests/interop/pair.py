"""One sequence of steps, done by two sides on two key spaces that are compared after every step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import redis

from .state import State, differences, read_state

#: Where the stopped clock starts: any moment that is not the present.
EPOCH = 1_800_000_000_000


class StateDiffers(AssertionError):
    """The two key spaces, or the results of a step, are not the same."""


@dataclass
class Sides:
    """Who does the steps on one queue: real BullMQ, the side under test, and real BullMQ on that side's keys."""

    expected: Any
    actual: Any
    foreign: Any


class Pair:
    """Sends each step to both sides and compares their results and their key spaces.

    Every method of a side is a step: ``pair.add("work", {"n": 1})``. A step whose name starts with ``foreign_`` is done
    by real BullMQ on both key spaces, for state that our side only has to respect. ``queue="child"`` does a step on
    the queue ``<queue>-child``.
    """

    def __init__(
        self,
        open_queue: Callable[[str], Sides],
        clients: tuple["redis.Redis[str]", "redis.Redis[str]"],
        queue: str,
        *,
        clock: int | None = EPOCH,
        view: Callable[[State], State] = lambda state: state,
    ) -> None:
        """Open ``queue`` on both sides.

        Args:
            open_queue: makes the sides of a queue.
            clients: plain clients on the two key spaces.
            queue: the queue's name.
            clock: where the stopped clock stands; None leaves both sides on the real one.
            view: what of a key space is compared.
        """
        self.queue = queue
        self.view = view
        self.now = clock
        self._open_queue = open_queue
        self._queues: dict[str, Sides] = {}
        self.clients = clients
        self._stem = f"bull:{queue}"
        self._history: list[str] = []
        self._on("")

    def name(self, suffix: str = "") -> str:
        """Return the full name of a queue of this pair."""
        return f"{self.queue}-{suffix}" if suffix else self.queue

    def _on(self, suffix: str) -> Sides:
        if suffix not in self._queues:
            sides = self._queues[suffix] = self._open_queue(self.name(suffix))
            for side in (sides.expected, sides.actual):
                side.set_clock(self.now)
                side.prepare()
            sides.foreign.set_clock(self.now)
        return self._queues[suffix]

    def tick(self, ms: int) -> None:
        """Move both clocks on."""
        assert self.now is not None
        self.now += ms
        for sides in self._queues.values():
            for side in (sides.expected, sides.actual, sides.foreign):
                side.set_clock(self.now)

    @contextmanager
    def stopped_abroad(self, now: int) -> Iterator[None]:
        """Stop the clocks of real BullMQ at one moment on both sides, so that it derives the same times and names."""
        theirs = [side for sides in self._queues.values() for side in (sides.expected, sides.foreign)]
        for side in theirs:
            side.set_clock(now)
        yield
        for side in theirs:
            side.set_clock(self.now)

    def expire(self, suffix: str) -> None:
        """Delete ``<queue>:<suffix>`` on both sides, as Redis does when its TTL has run out."""
        self._history.append(f"expire {suffix}")
        for client in self.clients:
            client.delete(f"{self._stem}:{suffix}")

    def command(self, *args: Any) -> None:
        """Run a plain command on both sides; ``{P}`` in an argument stands for the queue's prefix."""
        self._history.append(f"command {args}")
        for client in self.clients:
            client.execute_command(*(str(arg).replace("{P}", f"{self._stem}:") for arg in args))

    def __getattr__(self, step: str) -> Callable[..., Any]:
        return lambda *args, queue="", **kwargs: self._step(queue, step, args, kwargs)

    def _step(self, queue: str, step: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        shown = ", ".join([*map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())])
        self._history.append(f"{queue}{'.' if queue else ''}{step}({shown})")
        sides = self._on(queue)
        foreign = step.startswith("foreign_")
        method = step.removeprefix("foreign_")
        expected = getattr(sides.expected, method)(*args, **kwargs)
        actual = getattr(sides.foreign if foreign else sides.actual, method)(*args, **kwargs)
        self._compare(expected, actual)
        return expected

    def _compare(self, expected: Any, actual: Any) -> None:
        found = [*differences(expected, actual, "result"), *differences(*self.states())]
        if found:
            steps = "\n".join(f"  {number}. {step}" for number, step in enumerate(self._history, 1))
            raise StateDiffers(f"after\n{steps}\n" + "\n".join(f"    {line}" for line in found))

    def states(self) -> tuple[State, State]:
        """Read what is compared of both key spaces."""
        expected, actual = (self.view(read_state(client, self._stem)) for client in self.clients)
        return expected, actual
