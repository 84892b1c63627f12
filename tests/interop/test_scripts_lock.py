import pytest

from bullrush import Queue

from .peers import FLOOR, PEERS
from .scripts_lock import changes, installed

pytestmark = pytest.mark.node


@pytest.mark.parametrize("name", PEERS)
def test_the_installed_packages_are_the_pinned_ones(name: str) -> None:
    assert installed(PEERS[name]) == PEERS[name].lock


def test_bullrush_writes_the_version_of_the_floor(redis_url: str, queue_name: str) -> None:
    with Queue(queue_name, url=redis_url) as queue:
        queue.add("any", {})
        assert queue.get_version() == f"bullmq:{FLOOR.version}"


def test_new_gone_and_changed_scripts_are_told() -> None:
    before, after = {"same": "1", "old": "2", "other": "3"}, {"same": "1", "other": "4", "more": "5"}
    assert changes(before, after) == ["new: more", "gone: old", "changed: other"]
