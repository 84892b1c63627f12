"""What goes wrong in queues that only Node uses is said on the first page, and its cause is at most two clicks away."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bullrush.embedded import EmbeddedRedis
from tests.python.dashboard.page import Page, mounted

NODE = Path(__file__).parents[1] / "node"
#: Which incident is planted in which queue, what the first page says about it, and what stands behind its link.
#: The first page has seven sentences, so these are two servers.
PARTS = [
    {
        "noWorker": ("video", "No worker is connected; 34 jobs wait, the oldest for 22 min", "No worker is connected."),
        "forgottenPause": (
            "reports",
            "It is paused; 58 jobs wait, and the next one was added 3 h ago.",
            "It is paused:",
        ),
        "failuresOfThreeErrors": ("mail", "200 jobs failed in the last hour, most with Error: no address", "3 causes"),
        "poisonJob": ("invoices", "1 job failed in the last hour with", "job stalled more than allowable limit"),
        "brokenScheduler": ("billing", "A job scheduler makes no more jobs: 1 scheduler.", "schedulers 1"),
    },
    {
        "hungSlots": (
            "uploads",
            "All 4 slots of the global concurrency are taken, and no job has started",
            "4 run now.",
        ),
        "hungWorker": ("scans", "1 job runs, and no other one has started for 25 min", "1 scan 25 min ago"),
        "failedChild": ("stock", "1 job failed in the last hour with Error: no boxes", "Error: no boxes"),
        "deafWorker": (
            "letters",
            "Nobody has taken a job yet; 5 jobs wait, the oldest for 12 min.",
            "1 worker is connected.",
        ),
    },
]


@contextmanager
def planted(library: str, *incidents: str) -> Iterator[Page]:
    """Plant incidents by Node alone, and look at them."""
    with EmbeddedRedis(port=0, password="") as server:
        command = ["node", "incidents.js", library, server.url.rpartition(":")[2].split("/")[0], *incidents]
        with subprocess.Popen(command, cwd=NODE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as node:
            assert node.stdout is not None and node.stdout.readline() == "planted\n"
            page = mounted(server.url)
            yield page
            page.close()
            node.kill()


@pytest.mark.parametrize("library", ["bullmq5", "bullmq6"])
@pytest.mark.parametrize("part", PARTS)
def test_the_cause_of_an_incident_of_node_is_one_click_away(
    library: str, part: dict[str, tuple[str, str, str]]
) -> None:
    with planted(library, *part, "healthy") as page:
        said = {one["queue"]: one for one in page.json("/")["attention"] if one["queue"] is not None}
        pages = {queue: page.html(f"/q/{queue}/{said[queue]['page']}".rstrip("/")) for queue in said}
    for incident, (queue, sentence, behind) in part.items():
        assert said[queue]["text"].startswith(sentence), incident
        assert behind in " ".join(re.sub(r"<[^>]*>", " ", pages[queue]).split()), incident
    assert set(said) == {queue for queue, _, _ in part.values()}


@pytest.mark.parametrize("library", ["bullmq5", "bullmq6"])
def test_a_job_of_node_says_which_limit_or_child_holds_it_up(library: str) -> None:
    with planted(library, "rateLimit", "failedChild") as page:
        rows = {one["queue"]: one for one in page.json("/")["queues"]}
        limits = page.html("/q/sms")
        [parent] = page.json("/q/orders?state=waiting-children")["jobs"]
        why = page.json(f"/q/orders/jobs/{parent['id']}")
    assert rows["sms"]["limited"] and "At most 10 start in 60 s" in limits
    assert why["reasons"] == ["failed-child", "children"] and "(failed)" in why["sentence"]
