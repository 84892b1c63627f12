"""One sequence of steps, done by two sides on two key spaces that are compared after every step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import redis

from tests.interop.peers import FLOOR

from .state import State, by_job, differences, read_states, unordered

#: Where the stopped clock starts: any time that is not now.
EPOCH = 1_800_000_000_000


#: Steps in which BullMQ reads a Redis set: the order of its members is random.
OUT_OF_A_SET = {"stalled", "remove", "remove_job", "remove_unprocessed_children", "drain", "clean", "obliterate"}


class StateDiffers(AssertionError):
    """The two key spaces, or the results of a step, are not the same."""


@dataclass
class Sides:
    """The sides of one queue: real BullMQ, the side under test, and real BullMQ on that side's keys."""

    expected: Any
    actual: Any
    foreign: Any


class Pair:
    """Sends each step to both sides and compares their results and their key spaces.

    Every method of a side is a step: ``pair.add("work", {"n": 1})``. A step whose name starts with ``foreign_`` is done
    by real BullMQ on both key spaces, for state that our side only has to respect. ``queue="child"`` does a step on
    the queue ``<queue>-child``, ``queue="other/child"`` on the one of that name under the prefix ``other``; inside
    arguments ``"@other/child"`` stands for it.
    """

    def __init__(
        self,
        open_queue: Callable[[str, str], Sides],
        clients: tuple["redis.Redis[str]", "redis.Redis[str]"],
        queue: str,
        *,
        clock: int | None = EPOCH,
        view: Callable[[State], State] = lambda state: state,
    ) -> None:
        """Open ``queue`` on both sides.

        Args:
            open_queue: makes the sides of a queue from its prefix and name.
            clients: plain clients on the two key spaces.
            queue: the queue's name.
            clock: time of the stopped clock; None: both sides use the real clock.
            view: returns the part of a key space that is compared.
        """
        self.queue = queue
        self.view = view
        #: Returns the part of a step's result that is compared.
        self.result_view: Callable[[Any], Any] = lambda result: result
        self.now = clock
        self._open_queue = open_queue
        self._queues: dict[str, Sides] = {}
        self.clients = clients
        self.history: list[str] = []
        #: What real BullMQ left after the last step.
        self.seen: State = {}
        self.on("")

    def address(self, queue: str = "") -> tuple[str, str]:
        """Return prefix and full name of a queue of this pair."""
        prefix, _, suffix = queue.rpartition("/")
        return prefix or "bull", f"{self.queue}-{suffix}" if suffix else self.queue

    def name(self, queue: str = "") -> str:
        """Return the full name of a queue of this pair."""
        return self.address(queue)[1]

    def base(self, queue: str = "") -> str:
        """Return the key prefix of a queue."""
        return ":".join(self.address(queue)) + ":"

    def stem(self, queue: str = "") -> str:
        """Return the key prefix of a queue in the result of `read_state`."""
        return self.base(queue).removeprefix(f"bull:{self.queue}").removeprefix(":")

    def key(self, told: str) -> str:
        """Return the full key for a key in the result of `read_state`."""
        if told.startswith(tuple(self.base(queue) for queue in self._queues)):
            return told
        return f"bull:{self.queue}{'' if told.startswith('-') else ':'}{told}"

    def seen_value(self, queue: str, key: str, default: Any = ()) -> Any:
        """Return the value of a key of a queue as real BullMQ left it."""
        return self.seen.get(self.stem(queue) + key, {}).get("value", default)

    def on(self, queue: str) -> Sides:
        """Return the sides of a queue, opened at the first call."""
        if queue not in self._queues:
            sides = self._queues[queue] = self._open_queue(*self.address(queue))
            # A queue is of the floor's version unless a newer BullMQ has opened it before us.
            newer = [] if sides.foreign.node.version == FLOOR.version else [sides.foreign]
            for side in (sides.expected, *newer, sides.actual):
                side.set_clock(self.now)
                side.prepare()
            sides.foreign.set_clock(self.now)
        return self._queues[queue]

    def tick(self, ms: int) -> None:
        """Advance both clocks."""
        assert self.now is not None
        self.history.append(f"pair.tick({ms})")
        self.now += ms
        for sides in self._queues.values():
            for side in (sides.expected, sides.actual, sides.foreign):
                side.set_clock(self.now)

    @contextmanager
    def bullmq_clock_stopped(self, now: int) -> Iterator[None]:
        """Stop the clocks of real BullMQ on both sides at one time, so that it derives the same times and names."""
        theirs = [side for sides in self._queues.values() for side in (sides.expected, sides.foreign)]
        for side in theirs:
            side.set_clock(now)
        yield
        for side in theirs:
            side.set_clock(self.now)

    def expire(self, suffix: str, queue: str = "") -> None:
        """Delete ``<queue>:<suffix>`` on both sides, as Redis does when its TTL has run out."""
        self.history.append(f"pair.expire({suffix!r}{', queue=' + repr(queue) if queue else ''})")
        for client in self.clients:
            client.delete(self.base(queue) + suffix)

    def command(self, *args: Any) -> None:
        """Run a plain command on both sides; ``{P}`` in an argument stands for the queue's prefix."""
        self.history.append(f"pair.command{args}")
        for client in self.clients:
            client.execute_command(*(str(arg).replace("{P}", self.base()) for arg in args))

    def __getattr__(self, step: str) -> Callable[..., Any]:
        return lambda *args, queue="", **kwargs: self._step(queue, step, args, kwargs)

    def _step(self, queue: str, step: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        named = [*kwargs.items(), *([("queue", queue)] if queue else [])]
        self.history.append(
            f"pair.{step}({', '.join([*map(repr, args), *(f'{key}={value!r}' for key, value in named)])})"
        )
        sides = self.on(queue)
        foreign = step.startswith("foreign_")
        method = step.removeprefix("foreign_")
        args, kwargs = self._resolved(args), self._resolved(kwargs)
        expected = getattr(sides.expected, method)(*args, **kwargs)
        actual = getattr(sides.foreign if foreign else sides.actual, method)(*args, **kwargs)
        if method in OUT_OF_A_SET:
            self._agree_on_order()
            expected, actual = (sorted(result) if isinstance(result, list) else result for result in (expected, actual))
        if method == "move_to_wait":
            self._agree_on_wake_up()
        self._compare(self.result_view(expected), self.result_view(actual))
        return expected

    def _resolved(self, value: Any) -> Any:
        """Replace ``@<queue>`` by addresses, in a flow's nodes and in the parents and children of options."""
        if isinstance(value, list | tuple):
            return type(value)(self._resolved(item) for item in value)
        if not isinstance(value, dict):
            return value
        resolved = {key: self._resolved(item) for key, item in value.items()}
        node, relative = str(resolved.get("queueName", "")), str(resolved.get("queue", ""))
        if node.startswith("@"):
            resolved["prefix"], resolved["queueName"] = self.address(node[1:])
        if relative.startswith("@"):
            resolved["queue"] = ":".join(self.address(relative[1:]))
        return resolved

    def _compare(self, expected: Any, actual: Any) -> None:
        before, after = self.states()
        self.seen = before
        self._demand_none([*differences(expected, actual, "result"), *differences(before, after)])

    def _demand_none(self, found: list[str]) -> None:
        if found:
            raise StateDiffers("after\n" + "\n".join([*self.history, *(f"    {line}" for line in found)]))

    def read(self, getter: str, *args: Any, queue: str = "") -> None:
        """Let real BullMQ and our side read one queue, that of our side, and compare what they see."""
        self.history.append(f"pair.read{(getter, *args)}{f' of {queue}' if queue else ''}")
        sides = self.on(queue)
        theirs, ours = (getattr(side, getter)(*args) for side in (sides.foreign, sides.actual))
        self._demand_none(list(differences(self.result_view(theirs), self.result_view(ours), "result")))

    def _agree_on_order(self) -> None:
        """Accept another order of the last step: our side continues with the lists of real BullMQ, without events."""
        before, after = self.states()
        if before == after or unordered(by_job(before)) != unordered(by_job(after)):
            return
        for queue, key in product(self._queues, ("events", "wait", "paused")):
            expected = before.get(self.stem(queue) + key)
            if expected == after.get(self.stem(queue) + key):
                continue
            name = self.base(queue) + key
            if key == "events":
                for client in self.clients:
                    client.xtrim(name, maxlen=0, approximate=False)
            else:
                self.clients[1].delete(name)
                self.clients[1].rpush(name, *expected["value"])

    def _agree_on_wake_up(self) -> None:
        """Accept the marker for a prioritized job, which BullMQ does not set: both sides continue with it."""
        for queue in self._queues:
            jobs, marker = self.base(queue) + "prioritized", self.base(queue) + "marker"
            if self.clients[1].exists(jobs) and self.clients[1].zscore(marker, "0") == 0:
                self.clients[0].zadd(marker, {"0": 0})

    def states(self) -> tuple[State, State]:
        """Read what is compared of both key spaces."""
        expected, actual = map(self.view, read_states(*self.clients, self.queue))
        return expected, actual
