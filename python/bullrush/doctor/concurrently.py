"""Several examinations at the same time: what they ask goes out together, so that a round trip serves all of them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, Final, Generic, TypeVar

S = TypeVar("S")
T = TypeVar("T")

#: So many at a time: their calls together keep the server busy for some milliseconds, with other clients in between.
GROUP: Final = 25


class together(Generic[T]):  # noqa: N801 - reads as a verb: `await together(...)`
    """Runs coroutines of an operation side by side, and returns their results in order.

    Each must only await calls of Redis.
    """

    __slots__ = ("_steps",)

    def __init__(self, steps: Sequence[Coroutine[Any, Any, T]]) -> None:
        self._steps = steps

    def __await__(self) -> Generator[Any, Any, list[T]]:
        results: dict[int, T] = {}
        asked: dict[int, Any] = {}

        def go_on(number: int, move: Callable[..., Any], *value: object) -> None:
            try:
                asked[number] = move(*value)
            except StopIteration as end:
                asked.pop(number, None)
                results[number] = end.value

        try:
            for number, steps in enumerate(self._steps):
                go_on(number, steps.send, None)
            while asked:
                for number, call in list(asked.items()):
                    steps = self._steps[number]
                    try:
                        value = yield call
                    except Exception as error:
                        go_on(number, steps.throw, error)
                    else:
                        go_on(number, steps.send, value)
        finally:
            for steps in self._steps:
                steps.close()
        return [results[number] for number in range(len(self._steps))]


def groups(many: Sequence[S]) -> list[Sequence[S]]:
    """Return the parts that are examined at the same time."""
    return [many[first : first + GROUP] for first in range(0, len(many), GROUP)]
