"""All rounds of a question, the contenders in turn: A B C, A B C, so that a disturbance affects all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from benches.harness.contender import Contender
from benches.harness.measuring import Measurement
from benches.harness.peer import MissingPeerError, Peer, PeerError
from benches.harness.question import Answer, Question
from benches.harness.server import BenchServer
from benches.harness.stage import Stage

#: Jobs of the round that does not count: it warms up compilers, connections and script caches.
_WARM_UP = 0.1
_WARM_UP_WAITING = 1_000


@dataclass(frozen=True)
class _Entrant:
    contender: Contender
    place: int
    peers: tuple[Peer, ...]


def ask(server: BenchServer, question: Question, jobs: int, rounds: int, progress: Callable[[str], None]) -> Answer:
    """Measure all contenders. Each keeps its processes for all rounds; they are idle during the turns of others.

    A contender that fails is left out and reported; all are compared with the first one that has a result.
    """
    answer = Answer(question)
    began = time.monotonic()
    with ExitStack() as running:
        entrants: list[_Entrant] = []
        for place, contender in enumerate(question.contenders):
            progress(f"{contender.name} warms up")
            try:
                entrant = _Entrant(contender, place, _start(running, contender))
                _measure(server, question, _warming(entrant), "warm-up", round(jobs * _WARM_UP))
            except PeerError as error:
                _excuse(answer, contender, error)
                continue
            entrants.append(entrant)
            answer.identities[contender.name] = entrant.peers[0].identity
            answer.rounds[contender.name] = []
        for number in range(rounds):
            for entrant in list(entrants):
                name = entrant.contender.name
                progress(f"round {number + 1} of {rounds}: {name}")
                try:
                    found = _measure(server, question, entrant, f"{question.name}-{number}-{entrant.place}", jobs)
                    answer.rounds[name].append(found)
                except PeerError as error:
                    _excuse(answer, entrant.contender, error)
                    entrants.remove(entrant)
    server.empty()
    answer.seconds = time.monotonic() - began
    return answer


def _start(running: ExitStack, contender: Contender) -> tuple[Peer, ...]:
    return tuple(running.enter_context(Peer(contender.name, contender.command)) for _ in range(contender.processes))


def _warming(entrant: _Entrant) -> _Entrant:
    """Return the contender of the warm-up: a million waiting jobs are not needed for it."""
    waiting = min(entrant.contender.waiting, _WARM_UP_WAITING)
    return replace(entrant, contender=replace(entrant.contender, waiting=waiting))


def _measure(server: BenchServer, question: Question, entrant: _Entrant, queue: str, jobs: int) -> Measurement:
    server.empty()
    count = question.jobs_of(entrant.contender, jobs)
    stage = Stage(server, entrant.contender, entrant.peers, queue, count, question.payload, question.max_seconds)
    try:
        return question.work.measure(stage)
    except PeerError:
        for peer in entrant.peers:  # it may still be working, which would disturb the others
            peer.kill()
        raise


def _excuse(answer: Answer, contender: Contender, error: PeerError) -> None:
    """A missing or failed peer is part of the answer; bullrush itself must not fail."""
    missing = isinstance(error, MissingPeerError)
    answer.failed |= contender.name.startswith("bullrush") and not missing
    answer.rounds.pop(contender.name, None)
    reason = "is not here" if missing else "did not finish"
    answer.silent[contender.name] = f"{reason}: {error}"
