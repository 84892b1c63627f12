"""Queues of Bull, BullMQ's predecessor: the dashboard says what they are, and changes nothing in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from bullrush import LegacyQueue, Queue
from tests.python.dashboard.page import Page

CHANGES = {
    "pause": {},
    "resume": {},
    "add": {"name": "welcome"},
    "edit": {"id": "1", "data": "{}", "seen": "?"},
    "retry": {"id": "1"},
    "promote": {"id": "1"},
    "remove": {"id": "1"},
    "cancel": {"id": "1"},
    "failures/retry": {"failure": "a", "until": "1"},
    "bulk/retry": {"state": "failed"},
    "bulk/promote": {"state": "delayed"},
    "bulk/remove": {"state": "waiting"},
}
every_change = pytest.mark.parametrize(("change", "form"), CHANGES.items(), ids=CHANGES)


@pytest.fixture
def bull(redis_url: str, queue_name: str, redis: Redis) -> Iterator[LegacyQueue]:
    """A paused queue of Bull 4 with two jobs."""
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as queue:
        queue.add("welcome", {"user": 7})
        queue.add("welcome", {"user": 8})
        redis.rename(queue.to_key("wait"), queue.to_key("paused"))
        redis.set(queue.to_key("meta-paused"), 1)
        yield queue


def everything(redis: Redis, queue: LegacyQueue) -> dict[str, bytes | None]:
    return {key: redis.dump(key) for key in sorted(redis.keys(queue.to_key("*")))}


@every_change
def test_no_button_changes_a_queue_of_bull(bull, page: Page, redis: Redis, change: str, form: dict[str, str]) -> None:
    before = everything(redis, bull)
    error = page.post(f"/q/{bull.name}/{change}", 409, **form)["error"]
    assert error.startswith(f"Nothing was changed. bull:{bull.name} is a queue of Bull")
    assert everything(redis, bull) == before


@every_change
def test_no_button_changes_a_queue_that_bull_and_bullmq_both_have_used(
    bull, page: Page, redis: Redis, change: str, form: dict[str, str]
) -> None:
    redis.hset(bull.to_key("meta"), "version", "bullmq:5.62.0")
    before = everything(redis, bull)
    error = page.post(f"/q/{bull.name}/{change}", 409, **form)["error"]
    assert error.startswith("Nothing was changed. Bull and BullMQ use this queue both")
    assert everything(redis, bull) == before


def test_a_queue_of_both_is_shown_without_buttons(bull, page: Page, redis: Redis) -> None:
    redis.hset(bull.to_key("meta"), "version", "bullmq:5.62.0")
    for path in (f"/q/{bull.name}", f"/q/{bull.name}/jobs/1"):
        shown = page.html(path)
        assert "bullrush doctor" in shown and 'method="post"' not in shown
    assert "bullrush doctor" in page.json(f"/q/{bull.name}/add", 403)["error"]


def test_a_change_that_bull_has_refused_is_in_the_audit(bull, page: Page) -> None:
    page.post(f"/q/{bull.name}/resume", 409)
    assert "is a queue of Bull" in page.html("/audit")


@pytest.mark.parametrize("path", ["", "/jobs/1", "/add", "/workers", "/schedulers", "/failures", "/flows/1"])
def test_a_page_of_a_queue_of_bull_says_what_reads_and_moves_it(bull, page: Page, path: str) -> None:
    shown = page.html(f"/q/{bull.name}{path}", 409)
    assert f"bullrush info {bull.name}" in shown and 'method="post"' not in shown
    assert f"bullrush migrate {bull.name} --to-prefix bullmq --dry-run" in shown


def test_a_queue_that_has_moved_says_where_to(bull, page: Page, redis_url: str) -> None:
    with Queue(bull.name, url=redis_url, prefix="moved") as new:
        bull.migrate(new)
        error = page.json(f"/q/{bull.name}", 409)["error"]
        assert f"have moved to the queue {bull.name} with the prefix moved" in error
        new.obliterate(force=True)


def test_who_may_not_see_the_queue_to_which_jobs_have_moved_does_not_hear_its_name(
    bull, opened: Callable[..., Page], redis_url: str
) -> None:
    with Queue(secret := f"{bull.name}-secret", url=redis_url) as new:
        bull.migrate(new)
        page = opened(authorize=lambda name, action, queue: queue == bull.name)
        looked, changed = page.json(f"/q/{bull.name}", 409)["error"], page.post(f"/q/{bull.name}/resume", 409)["error"]
        for error in (looked, changed):
            assert "to a queue that you may not see" in error and secret not in error
        new.obliterate(force=True)


def test_the_first_page_names_queues_of_bull(bull, opened: Callable[..., Page], queue: Queue) -> None:
    page = opened()
    assert {"queue": bull.name, "legacy": "bull"} in page.json("/")["of_bull"]
    assert f"{bull.name}</a> (Bull)" in page.html("/")
    page = opened(authorize=lambda name, action, queue: queue != bull.name)
    assert bull.name not in page.html("/")


def test_a_queue_that_moves_while_somebody_looks_is_not_changed_any_more(
    page: Page, queue: Queue, redis: Redis, redis_url: str
) -> None:
    queue.add("welcome")
    page.json(f"/q/{queue.name}")
    page.post(f"/q/{queue.name}/pause")
    redis.hset(queue.to_key("ext:moved"), mapping={"prefix": "moved", "name": "elsewhere", "place": ""})
    error = page.post(f"/q/{queue.name}/resume", 409)["error"]
    assert error.startswith("Nothing was changed") and "elsewhere" in error
    assert redis.hget(queue.to_key("meta"), "paused") == "1"
