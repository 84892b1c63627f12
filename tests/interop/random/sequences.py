"""Random sequences by number: each seed is one sequence, and one that finds a difference is shrunk to a short one."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyFailure
from redis import Redis

from tests.interop.sides.manual_side import ManualSide
from tests.interop.sides.node_process import NodeProcess
from tests.interop.sides.node_side import NodeSide
from tests.interop.sides.pair import Pair, Sides, StateDiffers
from tests.interop.sides.state import State, remove_state
from tests.interop.sides.timeless import without_fan_out, without_traces

from .sleepers import Sleepers
from .step_calls import StepCalls
from .steps import QUEUES, Strategy, steps_of
from .worker_run import WorkerRunSide

LONGEST = 40
#: After each step one in this many sequences ends early.
ENDS = 100


def server_of(url: str) -> str:
    """Return a URL without its database number."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


MakeSide = Callable[[int, str, str], Any]


def numbers(seed: int, sequences: int) -> range:
    """Return the numbers of the sequences of one seed."""
    return range(seed * 1_000_000, seed * 1_000_000 + sequences)


def twin_pair(node: NodeProcess, url: str, queue: str) -> Pair:
    """Return real BullMQ beside itself: a difference is then a fault of the comparison."""
    return _pair(node, url, queue, lambda db, prefix, name: NodeSide(node, db, prefix, name, words=True))


def manual_pair(node: NodeProcess, url: str, queue: str, *, fan_out: bool = False) -> Pair:
    """Return real BullMQ beside bullrush's public API. Our clock stays stopped.

    With ``fan_out`` the markers that it adds are left out of the comparison, and nothing else.
    """
    server = server_of(url)

    def make_side(db: int, prefix: str, name: str) -> ManualSide:
        return ManualSide(f"{server}/{db}", name, prefix, fan_out=fan_out)

    def view(state: State) -> State:
        return without_traces(without_fan_out(state) if fan_out else state)

    return _pair(node, url, queue, make_side, view=view)


def worker_run_pair(node: NodeProcess, url: str, queue: str, *, fan_out: bool = False) -> Pair:
    """Return real BullMQ beside bullrush's public API, whose workers run by themselves, on the real clock."""
    server = server_of(url)

    def make_side(db: int, prefix: str, name: str) -> WorkerRunSide:
        return WorkerRunSide(f"{server}/{db}", name, prefix, fan_out=fan_out)

    return _pair(node, url, queue, make_side, clock=None)


def _pair(node: NodeProcess, url: str, queue: str, make_side: MakeSide, **options: Any) -> Pair:
    def open_queue(prefix: str, name: str) -> Sides:
        expected, foreign = (NodeSide(node, db, prefix, name, words=True) for db in (0, 1))
        return Sides(expected, make_side(1, prefix, name), foreign)

    expected, actual = (Redis.from_url(f"{server_of(url)}/{db}", decode_responses=True) for db in (0, 1))
    return Pair(open_queue, (expected, actual), queue, **options)


@st.composite
def sequences(draw: Any, step: Strategy) -> list[Any]:
    """Draw up to 40 steps. Plain lists would mostly be short."""
    sequence: list[Any] = []
    while len(sequence) < LONGEST and draw(st.sampled_from(range(ENDS))):
        sequence.append(draw(step))
    return sequence


#: Plays one sequence on a pair; returns how many steps of each kind it had.
Play = Callable[[Pair, Any], Counter[str]]


def play_steps(pair: Pair, sequence: list[Any]) -> Counter[str]:
    """Play a sequence of steps, beside workers that sleep."""
    calls, sleepers = StepCalls(pair), Sleepers(pair)
    for step in sequence:
        calls.call(step)
        sleepers.look(step[0])
    return calls.counts + Counter(
        {f"{step} wakes nobody, as in BullMQ": times for step, times in sleepers.asleep.items()}
    )


class _ShrunkEnough(BaseException):
    """Ends the search for a smaller sequence. It is no `Exception`, which would count as a difference."""


class Player:
    """Plays sequences on one pair of key spaces, one after the other; the handles of both sides stay open."""

    def __init__(self, pair: Pair, sequences_of: Strategy | None = None, play: Play | None = None) -> None:
        """Play on ``pair`` what ``sequences_of`` draws, with ``play``: sequences of steps by default."""
        self.pair = pair
        self.counts: Counter[str] = Counter()
        self._start = pair.now
        #: How long to search for a smaller sequence with the same difference.
        self.shrink_seconds = 30.0
        self._shrink_until = 0.0
        self._sequences = sequences(steps_of()) if sequences_of is None else sequences_of
        self._play_on = play or play_steps
        #: What opening a queue writes.
        self._meta: dict[Any, Any] = {}
        for queue in QUEUES:
            foreign = pair.on(queue).foreign
            self._meta = {"opts.maxLenEvents": "10000", "version": f"bullmq:{foreign.node.version}"}

    def play(self, number: int) -> None:
        """Play sequence ``number``.

        Raises:
            StateDiffers: for the shortest sequence found that shows the difference.
        """
        # The first example of every seed is the empty sequence, the second is random. More would be variants of it.
        once = settings(
            max_examples=2,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        self._played: Counter[str] = Counter()
        self._found: StateDiffers | None = None
        try:
            seed(number)(once(given(self._sequences)(self._play)))()
        except (StateDiffers, _ShrunkEnough):
            assert self._found is not None
            raise self._found from None
        except FlakyFailure:
            # Workers that run are not determined: the same sequence made no difference when it was played again.
            self._played = Counter({"differed only once": 1})
        self.counts += self._played

    def take_counts(self) -> Counter[str]:
        """Return how many steps of each kind were played since the last call."""
        counts, self.counts = self.counts, Counter()
        return counts

    def _play(self, sequence: Any) -> None:
        if not sequence:
            return
        if self._found is not None and time.monotonic() > self._shrink_until:
            raise _ShrunkEnough
        self.begin()
        try:
            self._played = self._play_on(self.pair, sequence)
        except StateDiffers as found:
            if self._found is None:
                self._shrink_until = time.monotonic() + self.shrink_seconds
            if self._found is None or len(str(found)) < len(str(self._found)):
                self._found = found
            raise

    def begin(self) -> None:
        """Start again with empty queues."""
        pair = self.pair
        for client in pair.clients:
            remove_state(client, pair.queue)
            for queue in QUEUES:
                client.hset(pair.base(queue) + "meta", mapping=self._meta)
        if self._start is not None and pair.now is not None:
            pair.tick(self._start - pair.now)
        pair.history.clear()
        pair.seen, _ = pair.states()
