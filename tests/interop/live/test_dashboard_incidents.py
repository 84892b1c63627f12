"""What goes wrong in queues that only Node uses is said on the first page, and its cause is at most two clicks away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.interop.incidents import SERVERS, planted
from tests.interop.peers import Peer
from tests.python.dashboard.page import Page, mounted

#: What the first page says about an incident, and what stands behind its link.
FOUND = {
    "noWorker": ("No worker is connected; 34 jobs wait, the oldest for 22 min", "No worker is connected."),
    "forgottenPause": ("It is paused; 58 jobs wait, and the next one was added 3 h ago.", "It is paused:"),
    "failuresOfThreeErrors": ("2,000 jobs failed in the last hour, most with Error: no address", "3 causes"),
    "poisonJob": ("1 job failed in the last hour with", "job stalled more than allowable limit"),
    "brokenScheduler": (
        "A job scheduler makes no more jobs: 1 scheduler (nightly).",
        "✕ stopped It makes no more jobs",
    ),
    "hungSlots": ("All 4 slots of the global concurrency are taken, and no job has started", "4 run now."),
    "hungWorker": ("1 job runs, and no other one has started for 25 min", "1 scan 25 min ago"),
    "failedChild": ("1 job failed in the last hour with Error: no boxes", "Error: no boxes"),
    "deafWorker": (
        "Nobody has taken a job yet; 5 jobs wait, the oldest for 12 min.",
        "1 worker is connected, and takes no job.",
    ),
}


@contextmanager
def looked_at(library: str, *incidents: str) -> Iterator[Page]:
    """Plant incidents by Node alone, and look at them."""
    with planted(library, *incidents) as url, closing(mounted(url)) as page:
        yield page


@pytest.mark.parametrize("queues", SERVERS)
def test_the_cause_of_an_incident_of_node_is_one_click_away(peer: Peer, queues: dict[str, str]) -> None:
    with looked_at(peer.library, *queues, "healthy") as page:
        said = {one["queue"]: one for one in page.json("/")["attention"] if one["queue"] is not None}
        pages = {queue: page.html(f"/q/{queue}/{said[queue]['page']}".rstrip("/")) for queue in said}
    for incident, queue in queues.items():
        sentence, behind = FOUND[incident]
        assert said[queue]["text"].startswith(sentence), incident
        assert behind in " ".join(re.sub(r"<[^>]*>", " ", pages[queue]).split()), incident
    assert set(said) == set(queues.values())


def test_a_job_of_node_says_which_limit_or_child_holds_it_up(peer: Peer) -> None:
    with looked_at(peer.library, "rateLimit", "failedChild") as page:
        rows = {one["queue"]: one for one in page.json("/")["queues"]}
        limits = page.html("/q/sms")
        [parent] = page.json("/q/orders?state=waiting-children")["jobs"]
        why = page.json(f"/q/orders/jobs/{parent['id']}")
    assert rows["sms"]["limited"] and "At most 10 start in 60 s" in limits
    assert why["reasons"] == ["failed-child", "children"] and "(failed)" in why["sentence"]
