"""The pages: what stands on them, for people and for programs."""

from __future__ import annotations

import html
import re
import threading
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker
from bullrush.inspection import SECOND_LOOK
from tests.python.dashboard.page import Page, older, said
from tests.waiting import wait_until

_HOUR = 3_600_000


@pytest.fixture(autouse=True)
def all_sentences(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests on this server may leave queues that need a human, too: no sentence is left out for them."""
    if "seven" not in request.node.name:
        monkeypatch.setattr("bullrush.dashboard.pages.overview.FIRST", 10_000)
        monkeypatch.setattr("bullrush.dashboard.pages.attention._FAILING", 10_000)


def line_of(page: Page, queue: str) -> dict[str, object]:
    """Return what the first page says about a queue."""
    (line,) = [line for line in page.json("/")["queues"] if line["queue"] == queue]
    return line


def test_the_first_page_has_the_numbers_of_each_queue(page: Page, worked: Queue) -> None:
    line = line_of(page, worked.name)
    assert {
        name: line[name] for name in ("waiting", "active", "delayed", "failed", "completed", "failed_last_hour")
    } == {
        "waiting": 1,
        "active": 0,
        "delayed": 1,
        "failed": 2,
        "completed": 1,
        "failed_last_hour": 2,
    }
    assert line["workers"] == 0 and isinstance(line["oldest_due_age"], int)


def test_the_command_that_retries_a_completed_job_says_so(page: Page, worked: Queue) -> None:
    commands = {job: page.json(f"/q/{worked.name}/jobs/{job}")["commands"]["retry"] for job in (1, 2)}
    assert commands == {
        1: f"bullrush jobs retry --state completed {worked.name} 1",
        2: f"bullrush jobs retry {worked.name} 2",
    }


def test_a_queue_that_nobody_works_needs_a_human(page: Page, queue: Queue, redis: Redis) -> None:
    queue.add_bulk([{"name": "x"} for _ in range(3)])
    older(redis, queue.name, 22 * 60_000)
    assert said(page, queue.name) == ["No worker is connected; 3 jobs wait, the oldest for 22 min."]
    health = queue.health()
    line = line_of(page, queue.name)
    assert (line["waiting"], line["stuck"]) == (health.waiting, True)
    assert abs(int(str(line["oldest_due_age"])) - (health.oldest_due_age or 0)) < 60_000


def test_who_looks_again_at_a_stuck_queue_does_not_wait_for_a_second_look(
    page: Page, queue: Queue, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.add_bulk([{"name": "x"} for _ in range(3)])
    older(redis, queue.name, 22 * 60_000)
    first, at = page.json(f"/q/{queue.name}"), time.monotonic() + SECOND_LOOK
    wait_until(lambda: time.monotonic() > at)
    with monkeypatch.context() as patch:
        patch.setattr("bullrush.dashboard.pages.line.SECOND_LOOK", 60.0)
        again = page.json(f"/q/{queue.name}")
    texts = [[one["text"] for one in found["attention"]] for found in (first, again)]
    assert texts == [["No worker is connected; 3 jobs wait, the oldest for 22 min."]] * 2
    assert time.monotonic() < at + 30


def test_workers_that_are_all_busy_for_long_need_a_human(
    page: Page, queue: Queue, redis: Redis, worker: Callable[..., Worker]
) -> None:
    end = threading.Event()
    worker(lambda job: end.wait(30), autorun=True)
    queue.add_bulk([{"name": "x"}, {"name": "x"}])
    wait_until(lambda: queue.get_active_count() == 1)
    older(redis, queue.name, 7 * 60_000)
    started = redis.hgetall(f"bull:{queue.name}:1")["processedOn"]
    redis.hset(f"bull:{queue.name}:1", "processedOn", int(started) - 7 * 60_000)
    found = said(page, queue.name)
    end.set()
    assert found == ["1 job runs, and no other one has started for 7 min; 1 job waits, the oldest for 7 min."]


def test_a_forgotten_pause_needs_a_human(page: Page, queue: Queue, redis: Redis) -> None:
    queue.add("x")
    older(redis, queue.name, 3 * _HOUR)
    queue.pause()
    assert said(page, queue.name) == ["It is paused; 1 job waits, and the next one was added 3 h ago."]


def test_failures_need_a_human_with_their_cause(page: Page, worked: Queue) -> None:
    (sentence,) = said(page, worked.name)
    assert sentence.startswith("2 jobs failed in the last hour, all with ValueError: no user <n> in charge (")


def test_a_queue_that_is_well_is_not_named(page: Page, queue: Queue, redis_url: str) -> None:
    queue.add("x")
    with Worker(queue.name, lambda job: None, url=redis_url) as worker:
        worker.run(until="empty")
    assert said(page, queue.name) == []


def test_there_are_at_most_seven_sentences(page: Page, queue_name: str, redis_url: str, redis: Redis) -> None:
    for number in range(9):
        with Queue(f"{queue_name}~{number}", url=redis_url) as queue:
            queue.add("x")
            older(redis, queue.name, _HOUR)
    found = page.json("/")
    assert len(found["attention"]) == 7 and found["more"] >= 2


def test_limits_are_sentences(page: Page, queue: Queue, worker: Callable[..., Worker]) -> None:
    queue.set_global_concurrency(1)
    queue.set_global_rate_limit(100, 60_000)
    queue.add_bulk([{"name": "x"}, {"name": "x"}])
    end = threading.Event()
    worker(lambda job: end.wait(30), autorun=True)
    wait_until(lambda: queue.get_active_count() == 1)
    texts = [limit["text"] for limit in page.json(f"/q/{queue.name}")["limits"]]
    end.set()
    assert "At most 1 run at the same time, over all workers; 1 run now." in texts
    assert "1 worker is connected." in texts
    assert any(text.startswith("At most 100 start in 60 s") for text in texts)


def test_a_tab_shows_a_page_of_jobs(page: Page, queue: Queue) -> None:
    queue.add_bulk([{"name": "x"} for _ in range(120)])
    first = page.json(f"/q/{queue.name}?state=waiting")
    assert [job["id"] for job in first["jobs"]] == [str(number) for number in range(1, 51)]
    last = page.json(f"/q/{queue.name}?state=waiting&from=100")
    assert [len(first["jobs"]), first["next"], len(last["jobs"]), last["next"]] == [50, 50, 20, None]


def test_jobs_are_found_by_their_failure(page: Page, worked: Queue) -> None:
    (group,) = page.json(f"/q/{worked.name}/failures")["groups"]
    found = page.json(f"/q/{worked.name}?state=failed&failure={group['id']}")
    assert {job["id"] for job in found["jobs"]} == {"2", "3"}
    assert page.json(f"/q/{worked.name}?state=failed&failure=none")["jobs"] == []


def test_the_sentence_of_a_job_is_that_of_why(page: Page, worked: Queue) -> None:
    for number in (4, 5):
        why = worked.why(str(number))
        shown = page.json(f"/q/{worked.name}/jobs/{number}")
        assert (shown["state"], shown["reasons"]) == (why.state, list(why.reasons))
        times = re.compile(r"\d+ (s|min)")
        assert times.sub("", shown["sentence"]) == times.sub("", why.sentence)


def test_a_job_shows_all_that_is_known_of_it(page: Page, worked: Queue) -> None:
    done = page.json(f"/q/{worked.name}/jobs/1")
    assert (done["data"], done["result"], done["log"]["rows"]) == (
        {"user": "Ada"},
        {"sent": True},
        ["sent the first mail"],
    )
    failed = page.json(f"/q/{worked.name}/jobs/2")
    assert failed["reason"] == "no user 2" and "in charge" in failed["errors"][0]
    shown = page.html(f"/q/{worked.name}/jobs/2")
    assert "no user 2" in shown and "bullrush jobs retry" in shown and "mailer" in shown


@pytest.mark.parametrize("job_id", ["a/b", "a?b", "a#b", "a%b", "a%2Fb", "..", ".", "a b&c=d", "../../x", "-x", "ü€"])
def test_a_job_is_found_whatever_its_id(page: Page, queue: Queue, job_id: str) -> None:
    queue.add("x", {"n": 1}, job_id=job_id)
    (link,) = re.findall(r'<td class="id"><a href="/ops([^"]+)"', page.html(f"/q/{queue.name}"))
    assert page.json(link.replace("&amp;", "&"))["id"] == job_id


def test_a_proxy_may_decode_the_slashes_of_an_id(page: Page, queue: Queue) -> None:
    queue.add("x", job_id="a/b/c")
    assert page.json(f"/q/{queue.name}/jobs/a/b/c")["id"] == "a/b/c"


def test_failures_are_groups(page: Page, worked: Queue) -> None:
    found = page.json(f"/q/{worked.name}/failures")
    (group,) = found["groups"]
    assert (group["count"], group["names"]) == (2, [{"name": "broken", "count": 2}])
    assert f"bullrush jobs retry --failure {group['id']} {worked.name}" == group["command"]
    assert "Retry these 2" in page.html(f"/q/{worked.name}/failures")


def test_workers_and_what_they_run_are_shown(page: Page, queue: Queue, worker: Callable[..., Worker]) -> None:
    end = threading.Event()
    worker(lambda job: end.wait(30), name="mailer", autorun=True)
    queue.add("welcome")
    wait_until(lambda: queue.get_active_count() == 1)
    found = page.json(f"/q/{queue.name}/workers")
    html = page.html(f"/q/{queue.name}/workers")
    end.set()
    assert [one["name"] for one in found["workers"]] == ["mailer"]
    assert [(job["name"], job["worker"]) for job in found["running"]] == [("welcome", "mailer")]
    assert "mailer" in html


def test_schedulers_are_shown(page: Page, queue: Queue) -> None:
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *", "tz": "Europe/Berlin"}, {"data": {"secret": 1}})
    (one,) = page.json(f"/q/{queue.name}/schedulers")["schedulers"]
    assert (one["id"], one["pattern"], one["time_zone"]) == ("nightly", "0 3 * * *", "Europe/Berlin")
    assert "secret" not in page.html(f"/q/{queue.name}/schedulers")


def test_a_family_is_shown(page: Page, queue: Queue, redis_url: str) -> None:
    child = {"name": "part", "queue_name": queue.name}
    with FlowProducer(url=redis_url) as flows:
        root = flows.add({"name": "whole", "queue_name": queue.name, "children": [child, child]})
    parent = page.json(f"/q/{queue.name}/jobs/{root.job.id}")
    assert parent["state"] == "waiting-children" and parent["children"]["count"] == 2
    ids = {one["id"] for one in parent["children"]["shown"]}
    assert {page.json(f"/q/{queue.name}/jobs/{job_id}")["parent"]["id"] for job_id in ids} == {root.job.id}


def test_a_large_job_is_cut_for_people_and_whole_for_programs(page: Page, queue: Queue) -> None:
    queue.add("x", {"text": "y" * 9_000_000})
    for number in range(300):
        queue.add_job_log("1", f"row {number}", keep_logs=0)
    assert len(page.html(f"/q/{queue.name}/jobs/1")) < 50_000
    found = page.json(f"/q/{queue.name}/jobs/1")
    assert len(found["data"]["text"]) == 9_000_000
    assert (len(found["log"]["rows"]), found["log"]["count"], found["log"]["rows"][-1]) == (100, 300, "row 299")


def test_no_link_of_any_page_is_broken(page: Page, worked: Queue) -> None:
    """A crawler, below the path where the dashboard is mounted."""
    seen: set[str] = set()
    open_links = ["/ops/"]
    while open_links:
        link = open_links.pop()
        if link in seen or (link.startswith("/ops/q/") and f"/q/{quote(worked.name)}" not in link):
            continue
        seen.add(link)
        got = page.send("GET", link.removeprefix("/ops"))
        assert got.status_code == 200, link
        if got.headers["content-type"].startswith("text/html"):
            found = [html.unescape(one) for one in re.findall(r'(?:href|src|hx-\w+)="([/?][^"]*)"', got.text)]
            # What begins with a question mark is the same page in another way: its live part, and its JSON.
            found = [link.partition("?")[0] + one if one.startswith("?") else one for one in found]
            assert all(one.startswith("/ops/") for one in found)
            open_links += found
    assert len(seen) > 20
