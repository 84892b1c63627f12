"""Every public member of BullMQ 5.62.0 is here, in both APIs, or on the list of those that make no sense in Python."""

import inspect
import re
import types
from pathlib import Path
from typing import Any

import pytest

import bullrush

PAGE = (Path(__file__).parents[2] / "docs" / "parity.md").read_text()
DOCS = "".join(page.read_text() for page in (Path(__file__).parents[2] / "docs").glob("*.md"))
MEMBERS_OF_BULLMQ = 270
AT_LEAST = 255
CLASSES = ("Queue", "Job", "Worker", "QueueEvents", "QueueEventsProducer", "FlowProducer", "JobScheduler")

SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
_HERE = re.compile(r"^\| `(.+?)` \| \w+ \| `(.+?)` \|$", re.MULTILINE)
HERE = [(kind, *row) for kind in CLASSES for row in _HERE.findall(SECTIONS[kind])]
LATER = re.findall(r"^\| `\S+` \| [\d., ]+ \| `(\w+)\.(\w+)` \|$", PAGE, re.MULTILINE)
ELSEWHERE = re.findall(r"^\| `(\S+)` \| \w+ \| (.+) \|$", PAGE[: PAGE.index("Here under the same name")], re.MULTILINE)
APIS = {"bullrush": bullrush, "bullrush.aio": bullrush.aio}

api = pytest.mark.parametrize("api", APIS.values(), ids=APIS)


def test_the_page_accounts_for_every_member() -> None:
    assert len(HERE) + len(ELSEWHERE) == MEMBERS_OF_BULLMQ
    assert len(HERE) >= AT_LEAST
    assert all(reason.startswith("As `") or len(reason.split()) > 3 for _, reason in ELSEWHERE)
    assert f"{len(HERE)} of them are here" in PAGE


@api
@pytest.mark.parametrize("kind", CLASSES)
def test_the_members_of_bullmq_are_here(api: Any, kind: str) -> None:
    def is_here(theirs: str, ours: str) -> bool:
        if ours == kind:
            return callable(getattr(api, kind, None))
        found = inspect.getattr_static(getattr(api, kind), ours, None)
        return found is not None and (not theirs.endswith("(set)") or found.fset is not None)

    assert [theirs for name, theirs, ours in HERE if name == kind and not is_here(theirs, ours)] == []


@api
@pytest.mark.parametrize(("kind", "ours"), LATER)
def test_a_member_of_later_releases_is_here(api: Any, kind: str, ours: str) -> None:
    assert callable(getattr(getattr(api, kind), ours))


@api
@pytest.mark.parametrize("kind", CLASSES)
def test_every_member_says_what_it_does(api: Any, kind: str) -> None:
    cls = getattr(api, kind)
    slots = types.MemberDescriptorType
    public = [
        name for name, value in inspect.getmembers(cls) if not name.startswith("_") and not isinstance(value, slots)
    ]
    assert [name for name in public if not inspect.getdoc(getattr(cls, name))] == []


@api
@pytest.mark.parametrize("kind", CLASSES)
def test_every_member_is_named_in_the_docs_and_none_is_internal(api: Any, kind: str) -> None:
    members = {name: inspect.getdoc(value) or "" for name, value in inspect.getmembers(getattr(api, kind))}
    public = [name for name in members if not name.startswith("_")]
    assert [name for name in public if members[name].startswith("Internal:")] == []
    assert {"manual", "record", "close_at_exit"}.isdisjoint(public)
    assert [name for name in public if not re.search(rf"\b{name}\b", DOCS)] == []


@pytest.mark.parametrize("kind", CLASSES)
def test_both_apis_take_the_same_arguments(kind: str) -> None:
    blocking, awaited = getattr(bullrush, kind), getattr(bullrush.aio, kind)

    def signatures(cls: type) -> dict[str, str]:
        calls = {name: value for name, value in inspect.getmembers(cls, callable) if not name.startswith("_")}
        return {name: str(inspect.signature(call).replace(return_annotation=None)) for name, call in calls.items()}

    assert signatures(blocking) == signatures(awaited)
