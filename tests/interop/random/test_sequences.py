"""Random sequences of all kinds of steps through the public API leave what BullMQ leaves, after every step.

``make fuzz`` plays more of them, with other seeds.
"""

import pytest

from .sequences import numbers

SEQUENCES = 250
CHUNK = 25
#: How many of them are played with the option ``fan_out``, too.
FANNED_OUT = 50


@pytest.fixture(scope="module")
def player(new_player):
    return new_player("random-sequences")


@pytest.fixture(scope="module")
def fan_out_player(new_player):
    return new_player("fanned-out-sequences", fan_out=True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, SEQUENCES, CHUNK))
def test_a_random_sequence_leaves_the_same_state(player, first):
    for number in numbers(seed=0, sequences=SEQUENCES)[first : first + CHUNK]:
        player.play(number)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("first", range(0, FANNED_OUT, CHUNK))
def test_with_fan_out_it_leaves_the_same_but_for_its_markers(fan_out_player, first):
    for number in numbers(seed=1, sequences=FANNED_OUT)[first : first + CHUNK]:
        fan_out_player.play(number)
