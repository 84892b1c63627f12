import json

import pytest

from bullrush import Queue

from .scripts_lock import HERE, PINNED, changes, hashes, read_lock

pytestmark = pytest.mark.node


def test_the_installed_package_is_the_pinned_one() -> None:
    lock = read_lock()
    assert json.loads((PINNED / "package.json").read_text())["version"] == lock["version"]
    installed = json.loads((HERE / "package-lock.json").read_text())["packages"]["node_modules/bullmq5"]
    assert installed["integrity"] == lock["integrity"]
    assert changes(lock["scripts"], hashes(PINNED)) == []


def test_bullrush_writes_the_pinned_version(redis_url: str, queue_name: str) -> None:
    with Queue(queue_name, url=redis_url) as queue:
        queue.add("any", {})
        assert queue.get_version() == f"bullmq:{read_lock()['version']}"


def test_new_gone_and_changed_scripts_are_told() -> None:
    before, after = {"same": "1", "old": "2", "other": "3"}, {"same": "1", "other": "4", "more": "5"}
    assert changes(before, after) == ["new: more", "gone: old", "changed: other"]
