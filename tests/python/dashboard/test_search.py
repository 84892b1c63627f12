"""The filter of a queue: what it finds, how it goes on, and who may look for what."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker
from bullrush.embedded import EmbeddedRedis
from tests.python.dashboard.page import POLL, Page


def at(queue: Queue, where: str, state: str = "waiting", **query: object) -> str:
    """Return the address of a search."""
    more = "".join(f"&{name}={value}" for name, value in query.items())
    return f"/q/{queue.name}?state={state}&where={quote(where)}{more}"


def found(page: Page, queue: Queue, where: str, state: str = "waiting") -> set[str]:
    """Return the ids of the jobs that a search finds."""
    return {job["id"] for job in page.json(at(queue, where, state))["jobs"]}


@pytest.fixture
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first part of a search look at few jobs, so that there are others."""
    monkeypatch.setattr("bullrush.inspection.search.AT_ONCE", 200)


@pytest.fixture
def many(queue: Queue, few_at_once: None) -> Queue:
    """Return a queue with 3,000 jobs that wait, of which a few are needles; the oldest one is."""
    queue.add_bulk([{"name": "needle" if number % 700 == 0 else "hay"} for number in range(3_000)])
    return queue


def searched_on(page: Page, path: str, done: Callable[[Any], bool]) -> Any:
    """Ask for a page as a browser does until it says something, and return it."""
    for _ in range(1_000):
        if done(got := page.json(path)):
            return got
        page.loop.run_until_complete(asyncio.sleep(0.02))
    raise AssertionError(got)


def test_jobs_are_found_by_their_name(page: Page, queue: Queue) -> None:
    queue.add_bulk([{"name": "mail-welcome" if number % 10 == 0 else "video"} for number in range(1_500)])
    first = page.json(at(queue, "name:mail-*"))
    assert {job["name"] for job in first["jobs"]} == {"mail-welcome"} and first["search"]["found"] == 150
    rest = [page.json(at(queue, "name:mail-*", **{"from": start})) for start in (first["next"], 100)]
    ids = [int(job["id"]) for part in (first, *rest) for job in part["jobs"]]
    assert ids == list(range(1_491, 0, -10)) and rest[-1]["next"] is None
    assert page.json(at(queue, "name:nothing"))["looked_at"] == 1_500


def test_jobs_are_found_by_what_they_hold(page: Page, worked: Queue) -> None:
    assert found(page, worked, "data.user:Bob") == {"4"}
    assert found(page, worked, "name:broken data.user:Eve error:user attempt>0 failed<1h", "failed") == {"2"}
    assert found(page, worked, "id:3", "failed") == {"3"}
    assert found(page, worked, "failed>1h", "failed") == set()


def test_a_word_without_a_sign_is_a_part_of_a_name_or_an_id_and_the_page_says_which(page: Page, worked: Queue) -> None:
    worked.add("send-digest-now", job_id="order-17")
    assert found(page, worked, "digest") == {"4", "order-17"}
    assert found(page, worked, "4") == {"4"} and found(page, worked, "digest 4") == {"4"}
    assert "Read as <code>name:*order-17*</code>" in page.html(at(worked, "order-17"))
    assert page.json(at(worked, "digest 4"))["meant"] == "name:*digest* id:4"
    assert "Read as" not in page.html(at(worked, "name:digest"))


def test_a_search_goes_on_while_somebody_looks(page: Page, many: Queue) -> None:
    first = page.json(at(many, "name:needle"))
    assert first["search"]["goes_on"] and 200 <= first["looked_at"] < 3_000 == first["total"]
    last = searched_on(page, at(many, "name:needle"), lambda got: got["search"]["ended"])
    assert last["looked_at"] == last["total"] == 3_000
    assert [int(job["id"]) for job in last["jobs"]] == [2_801, 2_101, 1_401, 701, 1]


def test_the_page_says_how_far_it_is_and_has_links_without_scripts(page: Page, many: Queue) -> None:
    path = at(many, "name:needle", only="newest")
    text = page.html(path)
    assert re.search(r"Searched 200 of 3,000 waiting, 1 found\.", text)
    (link,) = [html.unescape(one) for one in re.findall(r'href="([^"]*)">Search on</a>', text)]
    assert page.json(link.removeprefix(page.root))["search"]["goes_on"]
    text = page.html(at(many, "name:needle"))
    assert ">search on</a>" in text and ">stop</a>" in text


def test_a_search_that_was_stopped_stays_where_it_is(page: Page, many: Queue) -> None:
    for _ in range(5):
        got = page.json(at(many, "name:needle", only="newest"))
        page.loop.run_until_complete(asyncio.sleep(0.05))
    assert (got["looked_at"], got["search"]["ended"], got["search"]["goes_on"]) == (200, False, False)


def test_nobody_looks_and_the_search_rests(page: Page, many: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bullrush.dashboard.searches._PATIENCE", 0.0)
    page.json(at(many, "name:needle"))
    page.loop.run_until_complete(asyncio.sleep(0.3))
    rested = page.json(at(many, "name:needle", only="newest"))["looked_at"]
    assert rested == 200
    monkeypatch.setattr("bullrush.dashboard.searches._PATIENCE", 5.0)
    assert searched_on(page, at(many, "name:needle"), lambda got: got["search"]["ended"])["search"]["found"] == 5


def test_a_search_that_has_ended_begins_anew_with_the_page_and_not_with_its_part(page: Page, many: Queue) -> None:
    path = at(many, "name:needle")
    searched_on(page, path, lambda got: got["search"]["ended"])
    many.add("needle")
    polled = page.send("GET", path, headers=POLL).text
    assert "Searched 3,000 of 3,000" in polled
    again = page.json(path)
    assert (again["looked_at"], again["total"], again["jobs"][0]["id"]) == (200, 3_001, "3001")


def test_a_search_stops_when_it_has_found_much(page: Page, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bullrush.dashboard.searches.MOST_FOUND", 100)
    queue.add_bulk([{"name": "x"} for _ in range(1_200)])
    assert page.json(at(queue, "name:x"))["search"]["full"]
    assert "a filter with more conditions finds fewer" in page.html(at(queue, "name:x"))


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("data.user", "has no sign"),
        ('error:"x', "a quotation mark is not closed"),
        ("nam:x", "Did you mean 'name'?"),
        ("\x00", "cannot be read"),
        ("data.é>1", "No job here"),
        ("x" * 2_000, "at most 1,000 are read"),
    ],
)
def test_a_filter_that_cannot_be_read_is_a_sentence(page: Page, queue: Queue, where: str, said: str) -> None:
    queue.add("x")
    got = page.send("GET", at(queue, where), headers={"Accept": "text/html"})
    assert got.status_code in (200, 400) and said in html.unescape(got.text)


def test_the_command_lists_the_same_jobs(page: Page, worked: Queue) -> None:
    command = page.json(at(worked, 'error:"no user 2"', "failed"))["commands"]["list"]
    assert command == f"bullrush jobs list --state failed '--where=error:\"no user 2\"' {worked.name}"


def test_a_group_of_failures_is_filtered(page: Page, worked: Queue) -> None:
    (group,) = page.json(f"/q/{worked.name}/failures")["groups"]
    path = at(worked, "data.user:Eve", "failed", failure=group["id"])
    assert [job["id"] for job in page.json(path)["jobs"]] == ["2"]


def test_who_may_not_see_data_may_not_search_it(opened: Callable[..., Page], worked: Queue) -> None:
    page = opened(authorize=lambda name, action, queue: action == "view")
    for where in ("data.user:Eve", "error:user", "name:broken data.user:*"):
        assert "have no right 'data'" in page.json(at(worked, where, "failed"), 403)["error"]
    assert found(page, worked, "name:broken id:2 attempt>0 failed<1h", "failed") == {"2"}


def test_masked_fields_cannot_be_searched(opened: Callable[..., Page], queue: Queue) -> None:
    queue.add("note", {"user": {"password": "hunter2", "card": {"number": 4111}}, "note": "is hunter2", "n": 17})
    page = opened(mask=["password", "Card"], mask_text=["secret-[0-9]+"])
    for path in ("data.user.password:hunter*", "data.user.card.number:4111", "data.user.CARD:x"):
        assert "are hidden here, so nobody can search for them" in page.json(at(queue, path), 403)["error"]
    assert found(page, queue, "data.note:is*") == {"1"}
    assert found(page, queue, "data.note:*hunter*") == set()
    assert found(page, queue, "data.n:17") == {"1"}


def test_hidden_parts_of_names_and_errors_are_not_found(
    opened: Callable[..., Page], queue: Queue, redis_url: str
) -> None:
    def fail(job: object) -> None:
        raise ValueError("refused hunter2 and secret-17")

    queue.add("for hunter2", {"password": "hunter2"})
    with Worker(queue.name, fail, url=redis_url) as worker:
        worker.run(until="empty")
    page = opened(mask=["password"], mask_text=["secret-[0-9]+"])
    for where, ids in (
        ("name:*hunter*", set()),
        ("name:for*", {"1"}),
        ("error:hunter2", set()),
        ("error:secret-1", set()),
        ("error:refused", {"1"}),
    ):
        assert found(page, queue, where, "failed") == ids, where


def test_errors_that_name_queues_of_others_are_not_found(
    opened: Callable[..., Page], queue: Queue, redis_url: str
) -> None:
    def fail(job: object) -> None:
        raise ValueError("no")

    hidden = f"hidden-{queue.name}"
    child = {"name": "part", "queue_name": hidden, "opts": {"fail_parent_on_failure": True}}
    with FlowProducer(url=redis_url) as flows, Queue(hidden, url=redis_url) as other:
        parent = flows.add({"name": "whole", "queue_name": queue.name, "children": [child]}).job
        with Worker(hidden, fail, url=redis_url) as worker:
            worker.run(max_jobs=1)
        with Worker(queue.name, lambda job: None, url=redis_url) as worker:
            worker.run(until="empty")
        sees_all, sees_one = opened(), opened(authorize=lambda name, action, of: of == queue.name)
        assert found(sees_all, queue, "error:hidden-", "failed") == {parent.id}
        assert found(sees_one, queue, "error:hidden-", "failed") == set()
        assert sees_one.json(at(queue, "error:*", "failed"))["search"]["found"] == 0
        other.obliterate(force=True)


def test_redis_goes_away_while_a_search_goes_on(opened: Callable[..., Page], few_at_once: None) -> None:
    with EmbeddedRedis(port=0, password="") as server:
        page = opened(server.url, timeout=300)
        with Queue("mail", url=server.url) as queue:
            queue.add_bulk([{"name": "x"} for _ in range(1_000)])
            assert page.json(at(queue, "id:1"))["search"]["goes_on"]
    assert "Redis does not answer" in page.json("/q/mail?state=waiting&where=id:1", 503)["error"]


def test_what_is_gone_is_not_shown(page: Page, queue: Queue, redis: Redis) -> None:
    queue.add_bulk([{"name": "x"} for _ in range(3)])
    redis.delete(f"bull:{queue.name}:2")
    assert found(page, queue, "id:*") == {"1", "3"}
