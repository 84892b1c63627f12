"""Any number of random sequences, in parallel processes.

``python -m tests.interop.random.fuzz --sequences 20000 --seed 1 --workers 2``

``--play workers`` runs workers of both sides instead of calling single steps. ``fan-out`` and ``fan-out-workers`` are
the same with the option ``fan_out`` of bullrush. With ``getters`` both read one queue after each step. ``--peer`` is
the BullMQ beside which they are played.

Prints progress, every difference as runnable code, the counts of steps, and ends with 1 if anything differed.
"""

import argparse
import multiprocessing
import queue
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.queues import Queue as Pipe
from typing import Any

from bullrush.embedded import EmbeddedRedis
from tests.interop.peers import FLOOR, PEERS, Peer
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.pair import StateDiffers
from tests.interop.sides.timeless import without_parked

from .getters import play_getters, visits
from .sequences import Player, manual_pair, numbers, sequences, twin_pair, worker_run_pair
from .worker_run_sequences import play_worker_runs, worker_run_sequences

REPORT_SECONDS = 1.0 if sys.stdout.isatty() else 10.0
#: What is compared with real BullMQ: single steps, the same steps by another BullMQ, or running workers.
PLAYERS: dict[str, Callable[[NodeProcess, str], Player]] = {
    "steps": lambda node, url: Player(manual_pair(node, url, "fuzz")),
    "fan-out": lambda node, url: Player(manual_pair(node, url, "fuzz", fan_out=True)),
    "getters": lambda node, url: Player(manual_pair(node, url, "fuzz"), sequences(visits), play_getters),
    "twins": lambda node, url: Player(twin_pair(node, url, "fuzz")),
    "workers": lambda node, url: _worker_runs(node, url),
    "fan-out-workers": lambda node, url: _worker_runs(node, url, fan_out=True),
}


def _worker_runs(node: NodeProcess, url: str, *, fan_out: bool = False) -> Player:
    return Player(worker_run_pair(node, url, "fuzz", fan_out=fan_out), worker_run_sequences(), play_worker_runs)


@dataclass
class Tally:
    """What has been played so far."""

    sequences: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    differences: int = 0
    began: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        seconds = time.monotonic() - self.began
        steps = self.counts.total()
        speed = f"{self.sequences / seconds:,.0f} sequences/s, {steps / seconds:,.0f} steps/s"
        return f"{self.sequences:,} sequences, {steps:,} steps, {speed}, {self.differences} differences"


@dataclass(frozen=True)
class Game:
    """What is played beside which BullMQ, and how differences are told."""

    play: str
    peer: Peer
    shrink_seconds: float
    enough_differences: int

    def player(self, node: NodeProcess, url: str) -> Player:
        player = PLAYERS[self.play](node, url)
        player.shrink_seconds = self.shrink_seconds
        if self.peer.major > FLOOR.major:
            player.pair.result_view = without_parked
        return player


def work(game: Game, mine: range, results: "Pipe[Any]") -> None:
    """Play the sequences of those numbers; report ``(counts, difference or None)`` after each."""
    with EmbeddedRedis(port=0, password="") as server:
        node = NodeProcess(game.peer.library, server.url)
        try:
            player = game.player(node, server.url)
            for number in mine:
                difference = None
                try:
                    player.play(number)
                except StateDiffers as found:
                    difference = f"sequence {number}: {found}"
                results.put((player.take_counts(), difference))
        finally:
            node.close()


def fuzz(game: Game, sequences: int, seed: int, workers: int) -> Tally:
    """Play ``sequences`` sequences in ``workers`` processes, printing what happens."""
    context = multiprocessing.get_context("spawn")
    results: Pipe[Any] = context.Queue()
    shares = [share for number in range(workers) if (share := numbers(seed, sequences)[number::workers])]
    processes = [context.Process(target=work, args=(game, share, results), daemon=True) for share in shares]
    for process in processes:
        process.start()
    tally = Tally()
    reported = time.monotonic()
    for _ in range(sequences):
        counts, difference = _next_result(results, processes)
        tally.sequences += 1
        tally.counts += counts
        if difference:
            tally.differences += 1
            print(f"\n{difference}\n", flush=True)
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            print(f"\r{tally}", end="" if sys.stdout.isatty() else "\n", flush=True)
        if tally.differences == game.enough_differences:
            break
    for process in processes:
        if tally.differences == game.enough_differences:
            process.terminate()
        process.join()
    return tally


def _next_result(results: "Pipe[Any]", processes: list[Any]) -> Any:
    while True:
        try:
            return results.get(timeout=REPORT_SECONDS)
        except queue.Empty:
            if any(process.exitcode for process in processes):
                sys.exit("a fuzzing process broke down; its error is above")


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--play", choices=PLAYERS, default="steps", help="twins: real BullMQ beside itself")
    parser.add_argument("--peer", choices=PEERS, default=FLOOR.name, help="beside which BullMQ for Node")
    parser.add_argument("--shrink", type=float, default=30, help="search so many seconds for a smaller sequence")
    parser.add_argument("--differences", type=int, default=5, help="end after so many; each is printed")
    asked = parser.parse_args()
    game = Game(asked.play, PEERS[asked.peer], asked.shrink, asked.differences)
    beside = f"beside BullMQ {game.peer.version}"
    print(f"{asked.sequences:,} sequences of {asked.play} {beside}, seed {asked.seed}", flush=True)
    tally = fuzz(game, asked.sequences, asked.seed, asked.workers)
    print("\n" + "\n".join(f"{name:32}{number:>10,}" for name, number in sorted(tally.counts.items())))
    print(f"seed {asked.seed}: {tally}")
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
