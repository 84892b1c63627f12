"""docs/parity.md has every public member of BullMQ, and in which versions it is."""

import re

import pytest

from tests.repository.test_parity import CLASSES, PAGE, SECTIONS

from .members import members
from .peers import FLOOR, NEWEST_5, NEWEST_6, Peer

NEWER = (NEWEST_5, NEWEST_6)
#: Members that are not here, and whether 6.x has them.
ELSEWHERE = re.findall(r"^\| `(\w+)\.(\w+)` \| (yes|removed) \|", PAGE, re.MULTILINE)
#: A member, by its class or of several classes, and the versions that have it.
SINCE = re.findall(r"^\| `(?:(\w+)\.)?(\w+)` \| (\d[\d., ]+) \|", PAGE, re.MULTILINE)


def rows(kind: str) -> dict[str, str]:
    """Return the members of 5.62.0 by the page, and whether 6.x has them."""
    here = dict(re.findall(r"^\| `(.+?)` \| (yes|removed) \| `", SECTIONS[kind], re.MULTILINE))
    return here | {member: of_6 for of, member, of_6 in ELSEWHERE if of == kind}


def later(kind: str, peer: Peer) -> set[str]:
    """Return the members that a newer BullMQ has besides, by the page."""
    own = {member for of, member, versions in SINCE if of == kind and peer.version in versions}
    shared = {member for of, member, versions in SINCE if not of and peer.version in versions}
    return own | (shared & members(peer.library, kind))


@pytest.mark.parametrize("kind", CLASSES)
def test_the_page_has_the_members_of_the_floor(kind):
    assert set(rows(kind)) == members(FLOOR.library, kind)


@pytest.mark.parametrize("kind", CLASSES)
def test_the_page_says_which_of_them_6_still_has(kind):
    found = members(NEWEST_6.library, kind)
    assert rows(kind) == {member: "yes" if member in found else "removed" for member in rows(kind)}


@pytest.mark.parametrize("newer", NEWER, ids=lambda newer: newer.name)
@pytest.mark.parametrize("kind", CLASSES)
def test_the_page_has_what_newer_versions_added(kind, newer):
    assert members(newer.library, kind) - set(rows(kind)) == later(kind, newer)
