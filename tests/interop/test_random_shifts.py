"""Workers of both sides work the same random jobs, and leave, tell and see the same. ``make fuzz`` plays more of them, with other seeds."""

import pytest

from .pair import StateDiffers
from .random_shifts import ShiftStory, stories, tell_shifts
from .sequences import Player, numbers, shift_pair

STORIES = 30
CHUNK = 5


@pytest.fixture(scope="module")
def player(node_fleet, redis_url):
    return Player(shift_pair(node_fleet.get("bullmq5"), redis_url, "random-shifts"), stories(), tell_shifts)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", range(0, STORIES, CHUNK))
def test_workers_of_both_sides_do_the_same_with_any_jobs(player, first):
    for number in numbers(seed=0, sequences=STORIES)[first : first + CHUNK]:
        player.play(number)


def test_what_a_listener_sees_otherwise_is_found(player):
    player.begin()
    pair = player.pair
    ShiftStory(pair, {"kind": "def", "concurrency": 1, "prefetch": 0, "short": False})
    id = pair.add("work", {"n": 1})
    pair.clients[1].hset(f"{pair.base()}{id}", "data", '{"n":2}')
    with pytest.raises(StateDiffers, match=r"result › active\[0\] › data › n: expected 1, got 2"):
        pair.shift("def", delays=False)
