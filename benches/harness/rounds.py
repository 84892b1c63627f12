"""All rounds of a question, the contenders in turn: A B C, A B C, so that what disturbs the machine disturbs them all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from benches.harness.measuring import Measurement, measure
from benches.harness.peer import Peer
from benches.harness.question import Question
from benches.harness.server import BenchServer

#: Jobs of the round that does not count: it warms up compilers, connections and script caches.
_WARM_UP = 0.1


@dataclass
class Answer:
    """What was measured for one question: for each contender one measurement per round.

    Attributes:
        question: the question.
        rounds: by contender's name.
        identities: what each contender says of itself: versions.
    """

    question: Question
    rounds: dict[str, list[Measurement]] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)


def ask(server: BenchServer, question: Question, jobs: int, rounds: int, progress: Callable[[str], None]) -> Answer:
    """Ask all contenders. Each has one process for all its rounds, idle while others have their turn."""
    answer = Answer(question)
    with ExitStack() as running:
        peers = []
        for contender in question.contenders:
            progress(f"{question.name}: {contender.name} warms up")
            peer = running.enter_context(Peer(contender.name, contender.command))
            peers.append((contender, peer))
            answer.identities[contender.name] = peer.identity
            answer.rounds[contender.name] = []
            few = question.jobs_of(contender, round(jobs * _WARM_UP))
            measure(server, peer, contender, question.work, "warm-up", few)
        for number in range(rounds):
            for place, (contender, peer) in enumerate(peers):
                progress(f"{question.name}: round {number + 1} of {rounds}: {contender.name}")
                queue = f"{question.name}-{number}-{place}"
                count = question.jobs_of(contender, jobs)
                found = measure(server, peer, contender, question.work, queue, count)
                answer.rounds[contender.name].append(found)
    server.empty()
    return answer
