"""`make drift` ends with 1, and names what changed, when npm has something newer than the pins. Without network."""

from collections.abc import Mapping
from typing import Any

import pytest

from . import drift
from .peers import NEWEST_5, NEWEST_6

NEWEST = {5: NEWEST_5.version, 6: NEWEST_6.version}
LOCKS = [NEWEST_5.lock, NEWEST_6.lock]


def published_scripts(version: str) -> Mapping[str, str]:
    scripts: Mapping[str, str] = {lock["version"]: lock["scripts"] for lock in LOCKS}[version]
    return scripts


def doctored(lock: dict[str, Any]) -> dict[str, Any]:
    """Return a lock as if an older version was pinned: one script was other, one is new, one is gone."""
    first, second, *rest = lock["scripts"].items()
    return {**lock, "version": "6.0.0", "scripts": {first[0]: "other", **dict(rest), "old-1.lua": second[1]}}


def test_nothing_is_told_when_the_pins_are_the_newest() -> None:
    assert drift.news(LOCKS, NEWEST, published_scripts) == []


def test_a_doctored_lock_is_found_with_the_scripts_that_changed() -> None:
    changed, new = list(NEWEST_6.lock["scripts"])[:2]
    assert drift.news([NEWEST_5.lock, doctored(NEWEST_6.lock)], NEWEST, published_scripts) == [
        f"BullMQ {NEWEST_6.version} is newer than the pinned 6.0.0",
        f"  changed: {changed}",
        f"  new: {new}",
        "  gone: old-1.lua",
    ]


def test_a_new_major_version_is_told() -> None:
    [line] = drift.news(LOCKS, {**NEWEST, 7: "7.0.1"}, published_scripts)
    assert "7.0.1 is there" in line


@pytest.mark.parametrize(("versions", "code"), [([], 0), (["6.999.0"], 1), (["7.0.0"], 1), (["6.999.0-beta.1"], 0)])
def test_it_ends_with_1_only_if_there_is_something_newer(
    versions: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    published = [*NEWEST.values(), "5.1.0", *versions]
    monkeypatch.setattr(drift, "_npm", lambda *words: str(published).replace("'", '"'))
    monkeypatch.setattr(drift, "_published_scripts", lambda version: NEWEST_6.lock["scripts"])
    assert drift.main() == code
    assert ("nothing newer" in capsys.readouterr().out) == (code == 0)
