"""Redis is away, refuses something, or has changed meanwhile: a sentence each time."""

from __future__ import annotations

import asyncio
import html
import re
import time
from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from bullrush import Queue
from bullrush.dashboard.seldom import Seldom
from bullrush.embedded import EmbeddedRedis
from bullrush.rights import acl_rule, read_roles
from tests.python.dashboard.page import OWN, Page

PLACES = ("", "/jobs/1", "/failures", "/workers", "/schedulers", "/routes", "/flows/1", "/history")


def test_redis_goes_away_while_somebody_looks(opened: Callable[..., Page]) -> None:
    with EmbeddedRedis(port=0, password="") as server:
        page = opened(server.url, timeout=300)
        with Queue("mail", url=server.url) as queue:
            queue.add("x")
        assert page.json("/q/mail")["counts"]["waiting"] == 1
    for path in ("/", *(f"/q/mail{place}" for place in PLACES)):
        assert "Redis does not answer" in page.json(path, 503)["error"]
        assert "Redis does not answer" in page.html(path, 503)
    assert "Redis" in page.post("/q/mail/pause", 503)["error"]


def test_redis_is_not_there_at_the_start(opened: Callable[..., Page]) -> None:
    page = opened("redis://127.0.0.1:1/0", timeout=300)
    assert "Redis does not answer" in page.html("/", 503)


def test_a_wrong_password_is_said_with_what_to_do(opened: Callable[..., Page], redis_url: str) -> None:
    page = opened(redis_url.replace("//", "//nobody:wrong@"))
    assert "Give the URL of Redis with a user and its password" in page.json("/")["refused"]
    assert "Give the URL of Redis with a user and its password" in page.html("/q/mail", 502)


@pytest.fixture
def restricted(redis_url: str, redis: Redis, queue_name: str) -> Iterator[Callable[..., str]]:
    """Return a function that returns the URL of a user with the rights of some roles, without some of them."""

    def make(*without: str, roles: tuple[str, ...] = ("reader",)) -> str:
        abouts = [read_roles()[role] for role in roles]
        commands = {name for about in abouts for name in (*about.needed, *about.useful)}.difference(without)
        redis.execute_command(*acl_rule(sorted(commands), user=queue_name, password="x").split())
        return redis_url.replace("//", f"//{queue_name}:x@")

    yield make
    redis.acl_deluser(queue_name)


def test_a_reader_may_see_all_pages(opened: Callable[..., Page], worked: Queue, restricted: Callable[..., str]) -> None:
    page = opened(restricted())
    assert worked.name in {line["queue"] for line in page.json("/")["queues"]}
    for place in PLACES:
        page.html(f"/q/{worked.name}{place}")
    about = page.json("/about")
    assert about["cost_refused"] is None and about["missing"] == []


def test_a_change_that_redis_refuses_names_the_right(
    opened: Callable[..., Page], worked: Queue, restricted: Callable[..., str]
) -> None:
    page = opened(restricted())
    error = page.post(f"/q/{worked.name}/retry", 502, id="2")["error"]
    assert "NOPERM" in error and worked.get_job_state("2") == "failed"
    assert "'bullrush acl reader producer'" in error


def test_a_reader_who_is_a_producer_may_change_all(
    opened: Callable[..., Page], worked: Queue, restricted: Callable[..., str]
) -> None:
    page, at = opened(restricted(roles=("reader", "producer"))), f"/q/{worked.name}"
    for verb in ("pause", "resume"):
        page.post(f"{at}/{verb}")
    page.post(f"{at}/retry", id="2")
    page.post(f"{at}/promote", id="5")
    page.post(f"{at}/remove", id="1")
    page.post(f"{at}/cancel", 409, id="4")
    page.post(f"{at}/add", name="x", data="{}", options="{}")
    (group,) = page.json(f"{at}/failures")["groups"]
    page.post(f"{at}/failures/retry", failure=group["id"], until=group["last"])
    seen = re.search(r'name="seen" value="([^"]*)"', page.html(f"{at}/edit/4"))
    assert seen is not None
    page.post(f"{at}/edit", id="4", data="1", seen=html.unescape(seen[1]))
    preview = page.post(f"{at}/bulk/remove", state="waiting")["preview"]
    page.post(f"{at}/bulk/remove/confirm", preview=preview)


def test_without_scan_the_page_says_so_and_queues_are_found_by_name(
    opened: Callable[..., Page], worked: Queue, restricted: Callable[..., str]
) -> None:
    page = opened(restricted("scan"))
    assert "scan" in page.json("/")["refused"] and "scan" in page.html("/")
    assert page.json(f"/q/{worked.name}")["counts"]["failed"] == 2


def test_without_client_list_workers_are_not_known(
    opened: Callable[..., Page], worked: Queue, restricted: Callable[..., str]
) -> None:
    page = opened(restricted("client|list"))
    assert page.json("/")["workers_known"] is False
    assert page.json(f"/q/{worked.name}")["workers"] is None
    assert "client" in page.html(f"/q/{worked.name}/workers")


def test_a_key_of_another_type_hides_no_other_queue(
    page: Page, worked: Queue, queue_name: str, redis: Redis, redis_url: str
) -> None:
    broken = f"{queue_name}~broken"
    with Queue(broken, url=redis_url) as queue:
        queue.add("x")
    redis.delete(f"bull:{broken}:wait")
    redis.set(f"bull:{broken}:wait", "text")
    lines = {line["queue"]: line for line in page.json("/")["queues"]}
    assert "wait is a string where BullMQ has a list" in lines[broken]["error"]
    assert lines[worked.name]["failed"] == 2
    assert "wait is a string where BullMQ has a list" in page.html(f"/q/{broken}", 502)


def test_a_job_that_was_removed_is_said_to_be_gone(page: Page, worked: Queue) -> None:
    worked.remove("4")
    assert "it was removed, or never added" in page.html(f"/q/{worked.name}/jobs/4", 404)


def test_a_job_whose_data_are_broken_is_shown(page: Page, worked: Queue, redis: Redis) -> None:
    redis.hset(f"bull:{worked.name}:4", mapping={"data": "{no json", "opts": "[", "stacktrace": "7"})
    found = page.json(f"/q/{worked.name}/jobs/4")
    assert found["data"] is None and "Malformed job 4" in found["broken"]
    assert page.json(f"/q/{worked.name}")["jobs"][0]["id"] == "4"


def test_numbers_that_no_clock_knows_are_shown(page: Page, worked: Queue, redis: Redis) -> None:
    redis.hset(f"bull:{worked.name}:4", mapping={"timestamp": "1e30", "processedOn": "9" * 20, "delay": "1" * 25})
    redis.zadd(f"bull:{worked.name}:repeat", {"never": "inf"})
    assert page.json(f"/q/{worked.name}/jobs/4")["started"] >= 10**20
    for path in ("/", "/schedulers", f"/q/{worked.name}", f"/q/{worked.name}/jobs/4", f"/q/{worked.name}/schedulers"):
        page.json(path)
        page.html(path)


def test_a_scheduler_that_cannot_be_read_hides_no_other_one(page: Page, worked: Queue, redis: Redis) -> None:
    worked.upsert_job_scheduler("hourly", {"every": 3_600_000})
    redis.hset(f"bull:{worked.name}:repeat:moon", mapping={"pattern": "every full moon", "ic": 7, "name": "x"})
    redis.zadd(f"bull:{worked.name}:repeat", {"moon": 4_000_000_000_000})
    broken = f"{worked.name}~broken"
    redis.hset(f"bull:{broken}:repeat:x", mapping={"every": 1_000, "data": "{"})
    redis.zadd(f"bull:{broken}:repeat", {"x": 1})
    shown = {one["id"]: one for one in page.json("/schedulers")["schedulers"] if one["queue"] == worked.name}
    assert shown["moon"]["next"] == [4_000_000_000_000] and len(shown["hourly"]["next"]) == 3
    page.html("/schedulers")
    assert "Malformed job scheduler x" in page.html(f"/q/{broken}/schedulers", 502)


def test_a_job_of_ten_megabytes_is_shown_and_hidden_in_no_time(opened: Callable[..., Page], queue: Queue) -> None:
    queue.add("big", {"text": "x" * 9_000_000, "password": "geheim"}, job_id="big")
    page = opened(mask=["password"])
    for path in (f"/q/{queue.name}/jobs/big", f"/q/{queue.name}?where=name:big", f"/q/{queue.name}?where=attempt<1"):
        begin = time.process_time()
        shown = page.html(path)
        assert time.process_time() - begin < 5
        assert "big" in shown and "geheim" not in shown


def test_an_id_without_a_job_is_left_out(page: Page, queue: Queue, redis: Redis) -> None:
    queue.add_bulk([{"name": "x"}, {"name": "x"}])
    redis.delete(f"bull:{queue.name}:1")
    assert [job["id"] for job in page.json(f"/q/{queue.name}")["jobs"]] == ["2"]
    assert "data is gone" in page.json(f"/q/{queue.name}/jobs/1", 404)["error"]


def test_a_name_that_no_queue_can_have_is_not_found(page: Page) -> None:
    for name in ("a:b", "%00", "a%7Fb"):
        page.json(f"/q/{name}", 404)


def test_too_long_a_form_is_refused(page: Page, worked: Queue) -> None:
    got = page.send("POST", f"/q/{worked.name}/retry", content=b"id=" + b"x" * 200_000, headers=OWN)
    assert got.status_code == 413


def test_an_old_value_is_shown_while_a_new_one_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("bullrush.dashboard.source.time.monotonic", lambda: now[0])

    async def look() -> None:
        asked: list[int] = []
        may_answer = asyncio.Event()

        async def ask() -> int:
            asked.append(1)
            if len(asked) == 2:
                await may_answer.wait()
            return len(asked)

        seldom = Seldom(ask, 60)
        assert [await seldom.value(), await seldom.value()] == [1, 1]
        now[0] += 61
        assert [await seldom.value(), await seldom.value()] == [1, 1]
        may_answer.set()
        while await seldom.value() == 1:
            await asyncio.sleep(0)
        # Nobody has looked for long: an old value would be wrong.
        now[0] += 121
        assert [await seldom.value(), len(asked)] == [3, 3]

    asyncio.run(look())
