"""Players of random sequences on a stopped clock."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bullrush._core import stop_clock
from tests.interop.conftest import NodeFleet
from tests.interop.peers import Peer

from .sequences import Player, manual_pair


@pytest.fixture(scope="module")
def new_player(peer: Peer, node_fleet: NodeFleet, redis_url: str) -> Iterator[Callable[..., Player]]:
    """Return a function that makes a player on a queue; what else it is given is for `Player`."""
    node = node_fleet.get(peer.library)

    def make(queue: str, *playing: Any, fan_out: bool = False) -> Player:
        return Player(manual_pair(node, redis_url, queue, fan_out=fan_out), *playing)

    yield make
    stop_clock(None)
    node.call("clock", now=None)
