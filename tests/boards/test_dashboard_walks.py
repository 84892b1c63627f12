"""Somebody who knows nothing of it walks from the first page to the cause of an incident, with at most three clicks.

The incidents are in queues of ours, and in queues that only Node 5 or Node 6 uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, NamedTuple

import pytest

from bullrush import Queue
from bullrush.dashboard.pages.silence import SILENT
from bullrush.embedded import EmbeddedRedis
from tests.interop.incidents import HEALTHY, SERVERS, planted
from tests.waiting import wait_until

from .browser import Browser
from .incidents import dashboard, incidents, planting


class Walk(NamedTuple):
    """A way to a cause.

    Attributes:
        said: what the first page says of it; "" if it only shows the queue.
        clicks: what is clicked on.
        cause: what the last page says, or where it says it.
    """

    said: str
    clicks: tuple[str, ...]
    cause: str


def _sentence(queue: str) -> str:
    return f".attention a:text-is('{queue}')"


def _row(queue: str) -> str:
    return f".rows a:text-is('{queue}')"


def _tab(name: str) -> str:
    return f".tabs a:has-text('{name}')"


MOST_CLICKS: Final = 3
#: The first row of the names that took longest.
_SLOWEST: Final = "h2:text-is('What took long') ~ table tbody tr:first-child"
#: By what goes wrong.
WALKS: Final = {
    "no worker": Walk("No worker is connected; 34", (_sentence("video"),), "No worker is connected."),
    "forgotten pause": Walk(
        "It is paused; 58 jobs wait", (_sentence("reports"),), "It is paused: workers take no jobs."
    ),
    "failures of three errors": Walk("2,000 jobs failed in the last hour, most with", (_sentence("mail"),), "3 causes"),
    "poison job": Walk(
        "1 job failed in the last hour with", (_sentence("invoices"),), "job stalled more than allowable limit"
    ),
    "broken scheduler": Walk(
        "A job scheduler makes no more jobs: 1 scheduler (nightly).",
        (_sentence("billing"),),
        "✕ stopped It makes no more jobs: its latest one was removed",
    ),
    "rate limit": Walk("", (_row("sms"),), "At most 10 start in 60 s; none starts for"),
    "one slow name": Walk("", (_row("search"), _tab("slow")), f"{_SLOWEST} a:text-is('reindex')"),
    "slots held by hung jobs": Walk(
        "All 4 slots of the global concurrency are taken, and no job has started for",
        (_sentence("uploads"),),
        "All 4 slots of the global concurrency are taken, and no job has started for",
    ),
    "hung worker": Walk(
        "1 job runs, and no other one has started for 25 min", (_sentence("scans"), _tab("slow")), "25 min"
    ),
    "deaf worker": Walk(
        "Nobody has taken a job yet; 5 jobs wait, the oldest for 12 min.",
        (_sentence("letters"),),
        "has sent nothing since it connected",
    ),
    "waiting job of a deaf worker": Walk(
        "", (_row("letters"), ".rows td.id a"), "It waits: the connected worker takes no job"
    ),
    "parent of a failed child": Walk("", (_row("orders"), ".rows td.id a"), "(failed)"),
    "parent that waits": Walk("", (_row("orders"),), "1 job waits for its children."),
    "full Redis": Walk("The memory is nearly full", (), "Raise maxmemory"),
    "target without worker": Walk(
        "No worker whose profile matches is connected; 12 jobs wait", (_sentence("render~cap.gpu"),), "its jobs need"
    ),
    "target without worker, from its queue": Walk(
        "", (_row("render"),), "12 jobs for the target cap.gpu wait, and no worker whose profile matches is connected."
    ),
}


@contextmanager
def _ours_many(url: str) -> Iterator[None]:
    with incidents(url):
        yield


@contextmanager
def _ours_more(url: str) -> Iterator[None]:
    with planting(url) as plant:
        plant.hung_worker()
        plant.deaf_worker()
        plant.failed_child()
        plant.busy(HEALTHY)
        yield


@contextmanager
def _ours_full(url: str) -> Iterator[None]:
    with planting(url) as plant:
        plant.full_redis()
        yield


def _ours(plant: Callable[[str], AbstractContextManager[None]]) -> Callable[[], AbstractContextManager[str]]:
    @contextmanager
    def on_a_server() -> Iterator[str]:
        with EmbeddedRedis(port=0, password="") as server, plant(server.url):
            yield server.url

    return on_a_server


#: By who uses the queues: what plants incidents on a server, and which these are. The first page has seven sentences.
FIRST: Final = ("no worker", "forgotten pause", "failures of three errors", "poison job", "broken scheduler")
TABLE: Final = ("rate limit", "one slow name")
TARGET: Final = ("target without worker", "target without worker, from its queue")
SECOND: Final = (
    "hung worker",
    "deaf worker",
    "waiting job of a deaf worker",
    "parent of a failed child",
    "parent that waits",
)
PLACES: Final = {
    "ours": (_ours(_ours_many), (*FIRST, *TABLE, "slots held by hung jobs", *TARGET)),
    "ours, more": (_ours(_ours_more), SECOND),
    "ours, full": (_ours(_ours_full), ("full Redis",)),
    **{
        f"{library}{which}": (lambda library=library, names=names: planted(library, *names), walks)
        for library in ("bullmq5", "bullmq6")
        for which, names, walks in (
            ("", (*SERVERS[0], "rateLimit", "slowName"), (*FIRST, *TABLE)),
            (", more", (*SERVERS[1], "healthy"), (*SECOND, "slots held by hung jobs")),
            (", full", ("fullRedis",), ("full Redis",)),
        )
    },
}
CASES: Final = [(place, walk) for place, (_, walks) in PLACES.items() for walk in walks]


def _is_silent(url: str) -> bool:
    """Tell whether the deaf worker has been silent for so long that the pages name it."""
    with Queue("letters", url=url, skip_metas_update=True) as letters:
        return all(int(worker["idle"]) * 1_000 >= SILENT for worker in letters.get_workers())


@pytest.fixture(scope="module")
def address(
    request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Plant the incidents of a place, and return where a dashboard over them is; the browser is logged in."""
    plant, walks = PLACES[request.param]
    history = tmp_path_factory.mktemp("walks") / "history.db"
    with plant() as url, dashboard(url, "--history", str(history)) as link:
        if "deaf worker" in walks:
            wait_until(lambda: _is_silent(url))
        browser("complaints")
        browser("open", link)
        browser("at", "/")
        yield link.partition("/login")[0]
        browser("open", "about:blank")  # a page would go on asking


def test_thirty_cases_are_walked() -> None:
    assert len(CASES) >= 30 and all(len(walk.clicks) <= MOST_CLICKS for walk in WALKS.values())
    assert {walk for _, walk in CASES} == set(WALKS)


@pytest.mark.parametrize(("address", "walk"), CASES, indirect=["address"])
def test_the_cause_is_at_most_three_clicks_away(browser: Browser, address: str, walk: str) -> None:
    said, clicks, cause = WALKS[walk]
    browser("open", f"{address}/")
    if said:
        browser("see", said)
    for click in clicks:
        browser("click", click)
    browser("find" if cause.startswith(_SLOWEST) else "see", cause)
    assert browser("complaints") == ""


@pytest.mark.parametrize("address", ["ours, more", "bullmq5, more", "bullmq6, more"], indirect=True)
def test_ten_healthy_queues_beside_them_are_not_named(browser: Browser, address: str) -> None:
    browser("open", f"{address}/")
    for queue in HEALTHY:
        browser("see", queue)
        assert browser("count", _sentence(queue)) == 0
