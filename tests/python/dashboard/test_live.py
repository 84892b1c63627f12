"""The parts of pages that are kept up to date: what they cost, who gets which, and what the browser runs for them."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from redis import Redis

import bullrush.dashboard
from bullrush import Queue, Worker
from bullrush.dashboard import rendering
from bullrush.dashboard.routes import ROUTES, Look
from tests.python.dashboard.page import OWN, POLL, Page

STATIC = Path(bullrush.dashboard.__file__).parent / "static"
DOCS = Path(__file__).parents[3] / "docs/dashboard.md"


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the clock of what is shared, in a list."""
    clock = [1_000.0]
    monkeypatch.setattr("bullrush.dashboard.shared.monotonic", lambda: clock[0])
    return clock


def poll(page: Page, path: str, tag: str | None = None, **headers: str) -> httpx.Response:
    """Ask for the live part of a page, as htmx does."""
    return page.send("GET", path, headers={**POLL, **({"If-None-Match": tag} if tag else {}), **headers})


def live_paths(page: Page, queue: Queue) -> list[str]:
    live = [route.path for route in ROUTES if isinstance(route, Look) and route.is_live]
    preview = page.post(f"/q/{queue.name}/bulk/retry", state="failed")["preview"]
    paths = [path.replace("bulk/{id}", f"bulk/{preview}") for path in live]
    return [path.replace("{queue}", queue.name).replace("{id}", "5") for path in paths]


def test_a_page_and_its_live_part_say_the_same(page: Page, worked: Queue) -> None:
    # Redis says in whole seconds since when somebody is connected: the time in the title may be another one.
    ages = re.compile(r"\d+(\.\d+)? (ms|s|min)\b|(?<=title=\")[^\"]* UTC")
    for path in live_paths(page, worked):
        part = poll(page, path)
        assert part.status_code == 200 and part.text.startswith('<div id="live"') and part.text.endswith("</div>"), path
        assert ages.sub("", part.text) in ages.sub("", page.html(path)), path
        # No other part of a page is there, which would be doubled.
        assert "<header" not in part.text and "<h1><span" not in part.text


def test_what_has_not_changed_is_not_sent_again(page: Page, queue: Queue, now: list[float]) -> None:
    queue.add("x", delay=3_600_000_000)
    path = f"/q/{queue.name}?state=failed"
    first = poll(page, path)
    now[0] += 2
    again = poll(page, path, first.headers["etag"])
    assert (again.status_code, again.text, again.headers["etag"]) == (204, "", first.headers["etag"])
    queue.add("y")
    now[0] += 2
    changed = poll(page, path, first.headers["etag"])
    assert changed.status_code == 200 and changed.headers["etag"] != first.headers["etag"]


def test_a_page_that_chose_its_tab_stays_there(page: Page, worked: Queue) -> None:
    (again,) = re.findall(r'hx-get="\?([^"]*)"', page.html(f"/q/{worked.name}"))
    assert again == "state=waiting"
    (named,) = re.findall(r'hx-get="\?([^"]*)"', page.html(f"/q/{worked.name}?where=name:a%26b&done=x&state=failed"))
    assert named == "where=name%3Aa%26b&amp;state=failed"


def commands(redis: Redis) -> int:
    """Return how many commands the server has run, without those that ask for this.

    An ECHO goes with each write, and it is a matter of time how many calls share a write: they are left out.
    """
    stats = redis.info("commandstats")
    left_out = {"cmdstat_info", "cmdstat_select", "cmdstat_echo"}
    return sum(one["calls"] for name, one in stats.items() if name not in left_out)


def test_twenty_tabs_cost_what_one_does(page: Page, worked: Queue, redis: Redis, now: list[float]) -> None:
    for path in live_paths(page, worked):
        poll(page, path)  # opens connections, and loads what is asked for seldom
        costs = []
        for tabs in (1, 20):
            now[0] += 2
            before = commands(redis)

            async def all_of(path: str = path, tabs: int = tabs) -> None:
                asked = (page.client.request("GET", f"/ops{path}", headers=POLL) for _ in range(tabs))
                assert {got.status_code for got in await asyncio.gather(*asked)} == {200}

            page.loop.run_until_complete(all_of())
            costs.append(commands(redis) - before)
        # A preview is in memory.
        assert (costs[0] > 0 or "/bulk/" in path) and abs(costs[1] - costs[0]) <= 0.05 * costs[0], (path, costs)


def test_a_poll_does_not_ask_for_what_changes_seldom(
    page: Page, worked: Queue, redis: Redis, redis_url: str, now: list[float]
) -> None:
    with Worker(worked.name, None, url=redis_url, name="waits") as worker:
        worker.wait_until_ready()
        path = f"/q/{worked.name}?state=failed"
        page.html(path)
        before, reads = listings(redis), commands(redis)
        for _ in range(3):
            now[0] += 2
            assert "1 worker is connected" in poll(page, path).text
        assert listings(redis) == before
        of_a_poll = (commands(redis) - reads) / 3
        reads = commands(redis)
        assert "1 worker is connected" in page.html(path)
        assert commands(redis) - reads > of_a_poll and listings(redis) != before


def listings(redis: Redis) -> int:
    """Return how often the connections were listed."""
    return sum(one["calls"] for name, one in redis.info("commandstats").items() if name.startswith("cmdstat_client"))


def test_a_reload_reads_anew(page: Page, queue: Queue, now: list[float]) -> None:
    queue.add("x")
    path = f"/q/{queue.name}"
    assert "<b>1</b>" in poll(page, path).text
    queue.add("y")
    assert "<b>1</b>" in poll(page, path).text
    assert "<b>2</b>" in page.html(path)
    now[0] += 2
    assert "<b>2</b>" in poll(page, path).text


def test_a_change_is_seen_at_once(page: Page, queue: Queue, now: list[float]) -> None:
    queue.add("x")
    path = f"/q/{queue.name}"
    assert "Pause" in poll(page, path).text
    page.post(f"{path}/pause")
    assert "Resume" in poll(page, path).text


def test_a_part_is_given_only_to_those_who_may_see_the_same(
    opened: Callable[..., Page], worked: Queue, now: list[float], redis: Redis
) -> None:
    rights = {
        "ada": {"view", "data", "run"},
        "bob": {"view", "data", "run"},
        "eve": {"view"},
        "out": set[str](),
    }
    page = opened(
        authenticate=lambda request: request.headers["x-name"],
        authorize=lambda name, action, queue: action in rights[name],
    )
    path = f"/q/{worked.name}/jobs/2"
    texts = {name: poll(page, path, **{"X-Name": name}) for name in rights}
    assert texts["ada"].text == texts["bob"].text and "no user 2" in texts["ada"].text and "Retry" in texts["ada"].text
    assert "no user 2" not in texts["eve"].text and "Retry" not in texts["eve"].text
    assert texts["out"].status_code == 404 and "no user 2" not in texts["out"].text
    before = commands(redis)
    assert poll(page, path, **{"X-Name": "bob"}).text == texts["ada"].text and commands(redis) == before
    # Who has lost a right loses what it has shown, also within the time of a poll.
    rights["bob"] = {"view"}
    assert poll(page, path, **{"X-Name": "bob"}).text == texts["eve"].text
    assert "/q/" not in poll(page, "/", **{"X-Name": "out"}).text


def test_a_job_that_is_removed_while_somebody_looks_is_a_sentence(page: Page, worked: Queue, now: list[float]) -> None:
    path = f"/q/{worked.name}/jobs/4"
    poll(page, path)
    worked.remove("4")
    now[0] += 2
    gone = poll(page, path)
    assert gone.status_code == 404 and gone.text.startswith('<div id="live"') and "it was removed" in gone.text
    assert "etag" not in gone.headers and "<header" not in gone.text


def test_a_redis_that_is_away_is_waited_for_once(opened: Callable[..., Page]) -> None:
    page = opened("redis://127.0.0.1:1/0", timeout=600)

    async def all_of() -> list[httpx.Response]:
        return await asyncio.gather(*(page.client.request("GET", "/ops/q/x", headers=POLL) for _ in range(20)))

    before = page.loop.time()
    got = page.loop.run_until_complete(all_of())
    assert {one.status_code for one in got} == {503} and "Redis does not answer" in got[0].text
    assert page.loop.time() - before < 6


def test_old_parts_are_not_kept(
    page: Page, queue: Queue, redis: Redis, now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bullrush.dashboard.shared._MOST", 5)
    queue.add("x")
    paths = [f"/q/{queue.name}?from={number}" for number in range(7)]
    costs = []
    for path in (*paths, paths[6], paths[0]):
        before = commands(redis)
        poll(page, path)
        costs.append(commands(redis) - before)
    assert costs[-2] == 0 < costs[-1]


def test_a_row_is_made_again_only_if_it_says_something_else_whatever_another_dashboard_shows(
    opened: Callable[..., Page], queue: Queue, now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    given = rendering._TEMPLATES.get_template
    monkeypatch.setattr(
        rendering._TEMPLATES, "get_template", lambda name, *around: made.append(name) or given(name, *around)
    )
    queue.add("welcome", delay=3_600_000)
    of_queue = {"authorize": lambda name, action, seen: seen == queue.name}
    pages = [opened(**of_queue), opened(**of_queue, mask=["password"], history="none.db")]
    for _ in range(3):
        for page in pages:
            assert queue.name in poll(page, "/").text
        now[0] += 2
    assert made.count("overview_row.html") == 2
    queue.add("welcome", delay=3_600_000)
    assert queue.name in poll(pages[0], "/").text
    assert made.count("overview_row.html") == 3


def test_what_was_not_written_here_is_known(page: Page) -> None:
    """The file of htmx is the one of its package, of the version and licence that the docs name."""
    (file,) = STATIC.glob("htmx-*.js")
    about = re.search(r"htmx (\S+) \((\S+), SHA-256\s`([0-9a-f]{64})`\)", DOCS.read_text())
    assert about is not None
    version, licence, digest = about.groups()
    assert file.name == f"htmx-{version}.min.js" and sha256(file.read_bytes()).hexdigest() == digest
    assert licence == "0BSD" and "Zero-Clause BSD" in (STATIC / f"htmx-{version}.LICENSE").read_text()
    assert page.send("GET", f"/static/htmx-{version}.LICENSE").status_code == 404


def test_the_first_load_is_small(page: Page, worked: Queue) -> None:
    names = re.findall(r"/static/([\w.-]+)\?v=", page.html("/"))
    files = {name: page.send("GET", f"/static/{name}").content for name in names}
    assert {"dashboard.css", "keys.js", "live.js", "htmx-4.0.1.min.js"} < set(files)
    sizes = {name: len(gzip.compress(file)) for name, file in files.items()}
    assert sum(sizes.values()) + len(gzip.compress(page.html("/").encode())) < 40_000
    assert sizes["htmx-4.0.1.min.js"] < 13.4 * 1_000
    assert (
        sum(len(file) for name, file in files.items() if name.endswith((".css", ".js")) and "htmx" not in name) < 15_000
    )


def test_nothing_of_a_page_needs_eval(page: Page, worked: Queue) -> None:
    texts = [page.html(path) for path in live_paths(page, worked)] + [
        file.read_text() for file in sorted(STATIC.glob("*.js")) if "htmx" not in file.name
    ]
    texts += [file.read_text() for file in sorted((STATIC.parent / "templates").glob("*.html"))]
    for text in texts:
        assert not re.search(r'hx-on|\bjs:|javascript:|hx-vals|hx-trigger="[^"]*\[|eval\(|new Function|innerHTML', text)


def test_a_poll_of_somebody_who_is_logged_out_is_refused(opened: Callable[..., Page], worked: Queue) -> None:
    page = opened(authenticate=lambda request: None)
    got = poll(page, f"/q/{worked.name}")
    assert got.status_code == 401 and worked.name not in got.text
    assert page.send("POST", f"/q/{worked.name}/pause", headers={**OWN, **POLL}).status_code == 401
