"""Random sequences by number: each seed is one sequence, and a sequence that finds a difference is shrunk to a short one."""

from collections import Counter
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from redis import Redis

from .node_process import NodeProcess
from .node_side import NodeSide
from .pair import Pair, Sides
from .state import remove_state
from .steps import QUEUES, Strategy, steps_of
from .story import Story

LONGEST = 40
#: One in so many sequences ends before the longest after each step.
ENDS = 100

META = {"opts.maxLenEvents": "10000", "version": "bullmq:5.62.0"}


def server_of(url: str) -> str:
    """Return a URL without its database number."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


MakeSide = Callable[[int, str, str], Any]


def numbers(seed: int, sequences: int) -> range:
    """Return the numbers of the sequences of one seed."""
    return range(seed * 1_000_000, seed * 1_000_000 + sequences)


def twin_pair(node: NodeProcess, url: str, queue: str) -> Pair:
    """Return real BullMQ beside itself: what differs then is a fault of the comparison."""
    return _pair(node, url, queue, lambda db, prefix, name: NodeSide(node, db, prefix, name, words=True))


def _pair(node: NodeProcess, url: str, queue: str, make_side: MakeSide, **options: Any) -> Pair:
    def open_queue(prefix: str, name: str) -> Sides:
        expected, foreign = (NodeSide(node, db, prefix, name, words=True) for db in (0, 1))
        return Sides(expected, make_side(1, prefix, name), foreign)

    expected, actual = (Redis.from_url(f"{server_of(url)}/{db}", decode_responses=True) for db in (0, 1))
    return Pair(open_queue, (expected, actual), queue, **options)


@st.composite
def sequences(draw: Any, step: Strategy) -> list[Any]:
    """Draw up to 40 steps. Plain lists would be short ones for the most part."""
    sequence: list[Any] = []
    while len(sequence) < LONGEST and draw(st.sampled_from(range(ENDS))):
        sequence.append(draw(step))
    return sequence


class Player:
    """Plays sequences on one pair of key spaces, one after the other; the handles of both sides stay open."""

    def __init__(self, pair: Pair, kinds: Callable[[str], bool] = lambda name: True) -> None:
        """Play on ``pair`` steps of those ``kinds``."""
        self.pair = pair
        self.counts: Counter[str] = Counter()
        self._start = pair.now
        self._sequences = sequences(steps_of(kinds))
        for queue in QUEUES:
            pair.on(queue)

    def play(self, number: int) -> None:
        """Play sequence ``number``.

        Raises:
            StateDiffers: for the shortest sequence found that shows the difference.
        """
        # The first example of every seed is the empty sequence, the second is random. More would be variations of it.
        once = settings(
            max_examples=2,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        seed(number)(once(given(self._sequences)(self._play)))()

    def take_counts(self) -> Counter[str]:
        """Return how many steps of each kind, and sequences, were played since the last call."""
        counts, self.counts = self.counts, Counter()
        return counts

    def _play(self, sequence: list[Any]) -> None:
        if not sequence:
            return
        self._begin()
        story = Story(self.pair)
        for step in sequence:
            story.play(step)
        self.counts += story.counts
        self.counts["sequences"] += 1

    def _begin(self) -> None:
        pair = self.pair
        assert pair.now is not None and self._start is not None
        for client in pair.clients:
            remove_state(client, pair.queue)
            for queue in QUEUES:
                client.hset(pair.base(queue) + "meta", mapping=META)
        pair.tick(self._start - pair.now)
        pair.history.clear()
        pair.seen, _ = pair.states()
