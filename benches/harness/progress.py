"""Prints the progress and the remaining time: on a terminal in one changing line, elsewhere one line per question."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence

from benches.harness.question import Question

#: Seconds that a contender's round takes before any has been seen.
_GUESS = 2.0


class Progress:
    """Counts the turns of a run, a turn being one contender's round.

    Args:
        questions: what will be asked.
        rounds: how many rounds each question gets.
        known: seconds that questions took before, by name; for others the mean turn of this run is used.
    """

    def __init__(self, questions: Sequence[Question], rounds: int, known: Mapping[str, float]) -> None:
        self._turns = {question.name: _turns(question, rounds) for question in questions}
        self._known = known
        self._began = time.monotonic()
        self._done: dict[str, int] = {}
        self._terminal = sys.stderr.isatty()

    def turn(self, question: str, text: str) -> None:
        """A turn of a question begins."""
        done = self._done.get(question, 0)
        if self._terminal:
            self.say(f"{question}: {text}; {self.remaining()} left")
        elif not done:
            self.say(f"{question} ({len(self._done) + 1} of {len(self._turns)}; {self.remaining()} left)\n")
        self._done[question] = done + 1

    def say(self, text: str = "") -> None:
        """Show a line; without text: remove the current one."""
        if self._terminal:
            print(f"\r\x1b[K{text.strip()}", end="", file=sys.stderr, flush=True)
        elif text:
            print(text.strip(), file=sys.stderr, flush=True)

    def remaining(self) -> str:
        """Return the remaining time as text."""
        seconds = self._expected()
        return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"about {seconds:.0f} s"

    def _expected(self) -> float:
        passed = time.monotonic() - self._began
        finished = sum(self._done.values())
        pace = passed / finished if finished else _GUESS
        whole = {name: self._known.get(name, turns * pace) for name, turns in self._turns.items()}
        left = {name: 1 - min(1.0, self._done.get(name, 0) / turns) for name, turns in self._turns.items()}
        # After the start of the next question the one before has no turns left.
        started = [name for name in self._turns if name in self._done]
        return sum(whole[name] * left[name] for name in self._turns if name not in started[:-1])


def _turns(question: Question, rounds: int) -> int:
    """Count all turns; the warm-up is one too."""
    return len(question.contenders) * (1 + rounds_of(question, rounds))


def rounds_of(question: Question, rounds: int) -> int:
    """Return how many rounds a question gets if this many are asked for."""
    return min(rounds, question.rounds or rounds)
