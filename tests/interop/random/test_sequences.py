"""Random sequences of all kinds of steps through the public API leave what BullMQ leaves, after every step.

``make fuzz`` plays more of them, with other seeds.
"""

import pytest

from bullrush._core import stop_clock

from .sequences import Player, manual_pair, numbers

SEQUENCES = 250
CHUNK = 25
#: How many of them are played with the option ``fan_out``, too.
FANNED_OUT = 50


@pytest.fixture(scope="module")
def player(peer, node_fleet, redis_url):
    node = node_fleet.get(peer.library)
    yield Player(manual_pair(node, redis_url, "random-sequences"))
    stop_clock(None)
    node.call("clock", now=None)


@pytest.fixture(scope="module")
def fan_out_player(peer, node_fleet, redis_url):
    node = node_fleet.get(peer.library)
    yield Player(manual_pair(node, redis_url, "fanned-out-sequences", fan_out=True))
    stop_clock(None)
    node.call("clock", now=None)


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
