"""Real BullMQ and bullrush see the same in one queue, whoever has written and paused it.

``make fuzz`` reads more, with other seeds.
"""

import pytest

from .getters import play_getters, visits
from .sequences import numbers, sequences

SEQUENCES = 40
CHUNK = 20


@pytest.fixture(scope="module")
def player(new_player):
    return new_player("random-reads", sequences(visits), play_getters)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, SEQUENCES, CHUNK))
def test_after_random_steps_getters_of_both_sides_say_the_same(player, first):
    for number in numbers(seed=2, sequences=SEQUENCES)[first : first + CHUNK]:
        player.play(number)


def test_a_getter_that_says_something_else_is_found(player):
    player.begin()
    pair = player.pair
    pair.add("work", {})
    pair.on("").actual.count = lambda: 2
    with pytest.raises(AssertionError, match="result: expected 1, got 2"):
        pair.read("count")
    del pair.on("").actual.count
