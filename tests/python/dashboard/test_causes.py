"""From a sentence of the first page to the cause: the pages behind it say at least as much."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker
from bullrush.dashboard.pages.all.connections import Connected
from bullrush.dashboard.pages.silence import silence
from tests.python.dashboard.page import Page, older, said
from tests.waiting import wait_until

_MINUTE = 60_000


def text_of(page: Page, path: str) -> str:
    """Return what a person reads on a page."""
    return " ".join(re.sub(r"<[^>]*>", " ", page.html(path)).split())


def timeless(text: str) -> str:
    return re.sub(r"\d+(\.\d)? (ms|s|min)\b", "TIME", text)


@pytest.fixture
def deaf(queue: Queue, worker: Callable[..., Worker], redis: Redis, monkeypatch: pytest.MonkeyPatch) -> Queue:
    """Return a queue in which a job waits for a worker that is connected and was never run."""
    monkeypatch.setattr("bullrush.dashboard.pages.silence.SILENT", 0)
    worker(lambda job: None, name="letters-1").wait_until_ready()
    wait_until(lambda: queue.get_workers_count() == 1)
    queue.add("letter")
    older(redis, queue.name, 12 * _MINUTE)
    return queue


def test_a_worker_that_sends_nothing_is_named_wherever_its_queue_is(page: Page, deaf: Queue) -> None:
    silent = "letters-1 has sent nothing since it connected, TIME ago; a worker that waits for jobs sends something "
    silent += "every few seconds. Perhaps it was never run, is paused, hangs, or runs jobs of other queues."
    (sentence,) = said(page, deaf.name)
    assert timeless(sentence) == f"Nobody has taken a job yet; 1 job waits, the oldest for TIME. {silent}"
    for path in (f"/q/{deaf.name}", f"/q/{deaf.name}/workers"):
        assert silent in timeless(text_of(page, path))
    assert timeless(page.json(f"/q/{deaf.name}/workers")["silence"]) == silent


def test_the_next_job_does_not_wait_for_a_free_slot_of_a_worker_that_takes_none(page: Page, deaf: Queue) -> None:
    deaf.add("letter")
    first, second = (page.json(f"/q/{deaf.name}/jobs/{number}") for number in (1, 2))
    assert (first["sentence"], first["reasons"]) == ("It waits: the connected worker takes no job.", ["deaf-workers"])
    assert second["sentence"] == "It waits: the connected worker takes no job; 1 job starts before it."


def test_a_worker_that_waits_for_jobs_or_runs_one_is_not_called_silent(
    page: Page, queue: Queue, worker: Callable[..., Worker]
) -> None:
    worker(lambda job: None, autorun=True)
    wait_until(lambda: queue.get_workers_count() == 1)
    queue.add("x")
    wait_until(lambda: queue.get_completed_count() == 1)
    assert page.json(f"/q/{queue.name}/workers")["silence"] is None


def test_several_silent_workers_are_one_sentence() -> None:
    def connected(idle: int, name: str | None = None) -> Connected:
        return Connected("q", name, "10.0.0.5:4711", 0, 90_000, idle)

    assert silence([connected(5_000)]) is None
    assert str(silence([connected(40_000)])).startswith("The worker at 10.0.0.5:4711 has sent nothing for 40 s; ")
    assert str(silence([connected(40_000, "a"), connected(30_000, "b"), connected(1_000)])).startswith(
        "2 workers have sent nothing for 30 s or longer; "
    )


@pytest.fixture
def render(queue: Queue, worker: Callable[..., Worker], redis: Redis) -> Queue:
    """Return a queue with a worker, and with jobs for a target that it does not fit."""
    worker(lambda job: None, autorun=True)
    queue.add_bulk([{"name": "frame", "opts": {"target": {"capabilities": ["gpu"]}}} for _ in range(12)])
    older(redis, f"{queue.name}~cap.gpu", 40 * _MINUTE)
    wait_until(lambda: queue.get_workers_count() == 1)
    return queue


def test_a_queue_says_for_which_targets_jobs_wait_without_a_worker(page: Page, render: Queue) -> None:
    route = f"{render.name}~cap.gpu"
    text = "12 jobs for the target cap.gpu wait, and no worker whose profile matches is connected."
    assert page.json(f"/q/{render.name}")["unserved"] == [{"queue": route, "text": text}]
    assert f"{route} : {text}" in text_of(page, f"/q/{render.name}")
    assert re.search(rf'<a href="/ops/q/{re.escape(route)}">', page.html(f"/q/{render.name}"))


def test_a_route_says_what_it_is(page: Page, render: Queue) -> None:
    route = f"{render.name}~cap.gpu"
    (sentence,) = said(page, route)
    assert timeless(sentence) == (
        "No worker whose profile matches is connected; 12 jobs wait, the oldest for TIME. "
        f"This is a route of {render.name}."
    )
    found = page.json(f"/q/{route}")
    assert found["route"] == {"base": render.name, "target": {"capabilities": ["gpu"]}, "base_shown": True}
    assert "No worker whose profile matches is connected." in [one["text"] for one in found["limits"]]
    assert "its jobs need" in text_of(page, f"/q/{route}") and page.json(f"/q/{render.name}")["route"] is None


def test_routes_that_somebody_may_not_see_are_not_named(opened: Callable[..., Page], render: Queue) -> None:
    page = opened(authorize=lambda name, action, queue: queue == render.name)
    assert page.json(f"/q/{render.name}")["unserved"] == [] and "cap.gpu" not in page.html(f"/q/{render.name}")


def test_only_some_routes_have_a_sentence(page: Page, queue: Queue) -> None:
    for number in range(7):
        queue.add("x", target={"server": f"s{number}"})
    found = page.json(f"/q/{queue.name}")
    assert (len(found["unserved"]), found["more_unserved"]) == (5, 2)
    assert "2 more routes without a worker." in text_of(page, f"/q/{queue.name}")


def test_a_queue_begins_with_the_sentences_that_lead_to_it(page: Page, worked: Queue, redis: Redis) -> None:
    job = worked.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *", "tz": "UTC"})
    redis.delete(worked.to_key(job.id))
    redis.zrem(worked.to_key("delayed"), job.id)
    older(redis, worked.name, 22 * _MINUTE)
    first = [one for one in page.json("/?all=1")["attention"] if one["queue"] == worked.name]
    assert [one["page"] for one in first] == ["schedulers", "failures"]
    found = page.json(f"/q/{worked.name}")["attention"]
    assert [timeless(one.pop("text")) for one in found] == [timeless(one.pop("text")) for one in first]
    assert found == first
    assert "See the failures" in text_of(page, f"/q/{worked.name}")


def test_what_somebody_may_not_see_of_the_errors_is_not_at_the_top_of_a_queue(
    opened: Callable[..., Page], worked: Queue
) -> None:
    page = opened(authorize=lambda name, action, queue: action == "view")
    assert [one["text"] for one in page.json(f"/q/{worked.name}")["attention"]] == ["2 jobs failed in the last hour."]


def test_a_scheduler_that_stopped_is_named_with_what_helps(page: Page, queue: Queue, redis: Redis) -> None:
    for name in ("daily", "hourly", "nightly", "weekly"):
        job = queue.upsert_job_scheduler(name, {"pattern": "0 3 * * *", "tz": "UTC"})
        redis.delete(queue.to_key(job.id))
    redis.delete(queue.to_key("delayed"))
    (sentence,) = said(page, queue.name)
    assert re.match(r"A job scheduler makes no more jobs: 4 schedulers \((\w+, ){3}…\)\. Write the sch", sentence)
    assert "a connected worker of bullrush does it, too" in sentence.replace("A con", "a con")


def test_a_parent_that_waits_for_its_children_is_not_nothing(page: Page, queue: Queue, redis_url: str) -> None:
    with FlowProducer(url=redis_url) as flows:
        flows.add({"name": "order", "queue_name": queue.name, "children": [{"name": "x", "queue_name": "elsewhere"}]})
    texts = [one["text"] for one in page.json(f"/q/{queue.name}")["limits"]]
    assert "1 job waits for its children." in texts and "Nothing waits." not in texts


def _refuse(job: Any) -> None:
    raise ValueError(f"no user {job.id}")


def test_both_pages_of_failures_say_who_had_connected_before(
    page: Page, queue: Queue, worker: Callable[..., Worker]
) -> None:
    worker(_refuse, autorun=True, name="version-3")
    wait_until(lambda: queue.get_workers_count() == 1)
    queue.add("pay")
    wait_until(lambda: queue.get_failed_count() == 1)
    sentence = re.compile(
        rf"The first one that is kept failed [\d.]+ m?s after the worker version-3 of {queue.name} had connected\."
    )
    both = [sentence.search(text_of(page, path)) for path in ("/failures", f"/q/{queue.name}/failures")]
    assert all(both)


def test_all_sentences_are_shown_to_who_asks(page: Page, queue_name: str, redis_url: str, redis: Redis) -> None:
    for number in range(9):
        with Queue(f"{queue_name}~{number}", url=redis_url) as queue:
            queue.add("x")
            older(redis, queue.name, _MINUTE * 60)
    first, every = page.json("/"), page.json("/?all=1")
    assert len(first["attention"]) == 7 and len(every["attention"]) >= 9 and not first["all"] and every["all"]
    assert 'href="/ops/?all=1">Show all</a>' in page.html("/")
    # The part that is kept up to date stays what it is.
    assert 'hx-get="?all=1"' in page.html("/?all=1") and "Show the first 7" in page.html("/?all=1")


def test_at_most_a_hundred_sentences_are_shown(
    page: Page, queue_name: str, redis_url: str, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bullrush.dashboard.pages.overview.MOST", 8)
    for number in range(9):
        with Queue(f"{queue_name}~{number}", url=redis_url) as queue:
            queue.add("x")
            older(redis, queue.name, _MINUTE * 60)
    found = page.json("/?all=1")
    assert len(found["attention"]) == 8 and found["more"] >= 1
