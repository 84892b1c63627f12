"""Adding a job, a copy of one, and new data for one."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

from bullrush import Queue, Worker
from tests.python.dashboard.page import Page


def typed(shown: str, field: str) -> str:
    """Return what stands in a text area."""
    found = re.search(rf'<textarea name="{field}"[^>]*>\n(.*?)</textarea>', shown, re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def seen(page: Page, queue: Queue, job_id: str) -> str:
    return str(page.json(f"/q/{queue.name}/edit/{job_id}")["seen"])


def edit(page: Page, queue: Queue, job_id: str, data: str, status: int = 200) -> Any:
    return page.post(f"/q/{queue.name}/edit", status, id=job_id, seen=seen(page, queue, job_id), data=data)


def test_a_job_is_added_with_its_data_and_options(page: Page, worked: Queue) -> None:
    options = {"attempts": 3, "priority": 2, "job_id": "mine"}
    done = page.post(f"/q/{worked.name}/add", name="welcome", data='{"user": "Zoë"}', options=json.dumps(options))
    job = worked.get_job("mine")
    assert job is not None and done["done"] == "Job mine is added."
    assert (job.name, job.data, job.opts["attempts"], job.priority) == ("welcome", {"user": "Zoë"}, 3, 2)
    assert "Zoë" not in done["command"]


def test_the_browser_is_led_to_the_new_job(page: Page, worked: Queue) -> None:
    led = page.press(f"/q/{worked.name}/add", f"/q/{worked.name}/add", name="x", data="[1]")
    address = led.headers["location"].removeprefix("/ops")
    assert re.fullmatch(rf"/q/{worked.name}/jobs/6\?done=[\w-]+", address)
    assert "Job 6 is added." in page.html(address)


def test_a_copy_has_the_name_the_data_and_the_options_but_not_what_is_its_own(page: Page, queue: Queue) -> None:
    queue.add(
        "pay",
        {"text": "</textarea><script>x</script> &amp; \n é"},
        attempts=5,
        backoff={"type": "fixed", "delay": 7},
        delay=60_000,
        job_id="first",
        deduplication={"id": "once"},
    )
    shown = page.html(f"/q/{queue.name}/add?like=first")
    data, options = typed(shown, "data"), typed(shown, "options")
    assert json.loads(options) == {"attempts": 5, "backoff": {"type": "fixed", "delay": 7}}
    done = page.post(f"/q/{queue.name}/add", name="pay", data=data, options=options)
    first, copy = queue.get_job("first"), queue.get_job(done["id"])
    assert first is not None and copy is not None and copy.id != first.id
    assert (copy.name, copy.data, copy.delay) == ("pay", first.data, 0)


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        ({"name": ""}, 400, "no field 'name'"),
        ({"data": "{'a': 1}"}, 400, "The data must be JSON: Expecting property name"),
        ({"data": '{"a": 1,\n  b}'}, 400, "line 2, column 3"),
        ({"data": '{"a": NaN}'}, 400, "NaN is no number of JSON"),
        ({"data": '{"a": 1e999}'}, 400, "Nothing was added: data.a"),
        ({"data": '{"a": 1' + "0" * 30 + "}"}, 400, "does not fit in 64 bits"),
        ({"data": "[" * 100_000}, 400, "The data must be JSON"),
        ({"options": "3"}, 400, "The options must be an object"),
        ({"options": '{"atempts": 3}'}, 400, "has no option 'atempts'"),
        ({"options": '{"attempts": "many"}'}, 400, "attempts must be a whole number"),
        ({"options": '{"job_id": "4"}'}, 409, "There is a job '4' already"),
        ({"options": '{"job_id": "0"}'}, 400, "Nothing was added: "),
        ({"options": '{"parent": {"id": "1", "queue": "bull:hidden"}}'}, 400, "names another queue"),
        ({"options": '{"target": {"server": "x"}}'}, 400, "names another queue"),
    ],
)
def test_what_cannot_be_added_is_a_sentence(
    page: Page, worked: Queue, redis: Redis, given: dict[str, str], status: int, words: str
) -> None:
    before = {key: redis.dump(key) for key in redis.scan_iter(f"bull:{worked.name}:*")}
    assert words in page.post(f"/q/{worked.name}/add", status, **{"name": "x", **given})["error"]
    assert {key: redis.dump(key) for key in redis.scan_iter(f"bull:{worked.name}:*")} == before


def test_a_queue_does_not_begin_by_a_slip(page: Page, queue: Queue) -> None:
    page.json(f"/q/{queue.name}-typo/add", 404)
    page.post(f"/q/{queue.name}-typo/add", 404, name="x")


def test_a_queue_of_bull_gets_no_job_that_it_cannot_read(page: Page, queue: Queue, redis: Redis) -> None:
    opts = '{"attempts":1,"delay":0,"timestamp":1}'
    redis.set(f"bull:{queue.name}:id", 1)
    redis.hset(f"bull:{queue.name}:1", mapping={"name": "x", "data": "{}", "opts": opts, "timestamp": 1, "delay": 0})
    redis.rpush(f"bull:{queue.name}:wait", 1)
    got = page.post(f"/q/{queue.name}/add", 409, name="x")
    assert "Nothing was changed" in got["error"] and redis.llen(f"bull:{queue.name}:wait") == 1


@pytest.mark.parametrize("data", ['{"user": "Zoë", "deep": [1, {"a": null}]}', "[]", '"text"', "17", "null"])
def test_the_data_of_a_job_are_replaced(page: Page, worked: Queue, data: str) -> None:
    done = edit(page, worked, "4", data)
    job = worked.get_job("4")
    assert job is not None and job.data == json.loads(data)
    assert done["command"] == f"bullrush jobs update {worked.name} 4 -"


def test_the_form_shows_the_data_and_sent_back_they_are_the_same(page: Page, queue: Queue) -> None:
    data = {"text": "</textarea>\n\"é' &lt;", "big": 2**63, "float": 1.5, "list": [[], {}]}
    queue.add("x", data)
    edit(page, queue, "1", typed(page.html(f"/q/{queue.name}/edit/1"), "data"))
    job = queue.get_job("1")
    assert job is not None and job.data == data


def test_data_that_have_changed_meanwhile_are_not_overwritten(page: Page, worked: Queue) -> None:
    old = seen(page, worked, "4")
    job = worked.get_job("4")
    assert job is not None
    job.update_data({"user": "Carol"})
    got = page.post(f"/q/{worked.name}/edit", 409, id="4", seen=old, data="{}")
    assert "have changed since this form was made" in got["error"]
    changed = worked.get_job("4")
    assert changed is not None and changed.data == {"user": "Carol"}


def test_data_that_are_no_json_are_refused_with_a_sentence(page: Page, worked: Queue) -> None:
    assert "The data must be JSON" in edit(page, worked, "4", "{user: 1}", 400)["error"]
    job = worked.get_job("4")
    assert job is not None and job.data == {"user": "Bob"}


def test_it_is_said_what_new_data_mean_for_a_job_that_runs_or_has_ended(
    page: Page, worked: Queue, redis_url: str
) -> None:
    assert "It stays failed: retry it" in edit(page, worked, "2", "{}")["done"]
    with Worker(worked.name, lambda job: None, url=redis_url) as worker:
        assert worker.get_next_job("token") is not None
        assert "The attempt that runs has the old data." in edit(page, worked, "4", "{}")["done"]


def test_a_job_with_masked_values_is_neither_edited_nor_copied(opened: Callable[..., Page], queue: Queue) -> None:
    page = opened(mask=["password"], mask_text=["hunter2"])
    queue.add("x", {"password": "secret-1"})
    queue.add("x hunter2", {})
    for path in ("edit/1", "add?like=1", "add?like=2"):
        error = page.json(f"/q/{queue.name}/{path}", 409)["error"]
        assert "masked values" in error and "secret-1" not in error and "hunter2" not in error
    page.post(f"/q/{queue.name}/edit", 409, id="1", seen="x", data="{}")
    job = queue.get_job("1")
    assert job is not None and job.data == {"password": "secret-1"}
    page.json(f"/q/{queue.name}/edit/2")
    assert "/edit/" not in page.html(f"/q/{queue.name}/jobs/1") and "?like=" not in page.html(f"/q/{queue.name}/jobs/1")
    assert "/edit/2" in page.html(f"/q/{queue.name}/jobs/2") and "?like=" not in page.html(f"/q/{queue.name}/jobs/2")


def test_who_may_not_see_data_may_neither_edit_nor_copy_a_job(opened: Callable[..., Page], worked: Queue) -> None:
    page = opened(authorize=lambda name, action, queue: action in {"view", "edit"})
    for path in ("edit/4", "add?like=4"):
        page.json(f"/q/{worked.name}/{path}", 403)
    page.post(f"/q/{worked.name}/edit", 403, id="4", seen="x", data="{}")
    assert "Edit the data" not in page.html(f"/q/{worked.name}/jobs/4")
    assert page.post(f"/q/{worked.name}/add", name="x")["id"] == "6"


def test_long_data_are_edited_and_longer_ones_refused(page: Page, queue: Queue) -> None:
    queue.add("x", ["é" * 400_000])
    edit(page, queue, "1", json.dumps(["ü" * 300_000]))
    job = queue.get_job("1")
    assert job is not None and job.data == ["ü" * 300_000]
    queue.add("x", ["x" * 1_000_001])
    assert "too long" in page.json(f"/q/{queue.name}/edit/2", 409)["error"]
    assert "too long" in page.post(f"/q/{queue.name}/add", 413, name="x", data="x" * 4_000_000)["error"]


def test_pages_lead_to_the_forms_if_somebody_may_use_them(opened: Callable[..., Page], worked: Queue) -> None:
    page = opened()
    assert f'href="/ops/q/{worked.name}/add"' in page.html(f"/q/{worked.name}")
    shown = page.html(f"/q/{worked.name}/jobs/4")
    assert f'href="/ops/q/{worked.name}/edit/4"' in shown and f'href="/ops/q/{worked.name}/add?like=4"' in shown
    other = opened(authorize=lambda name, action, queue: action != "edit")
    assert "/add" not in other.html(f"/q/{worked.name}") and "/edit/" not in other.html(f"/q/{worked.name}/jobs/4")


def test_the_audit_has_no_data(page: Page, worked: Queue) -> None:
    edit(page, worked, "4", '{"user": "Carol"}')
    page.post(f"/q/{worked.name}/add", name="x", data='{"user": "Dave"}')
    lines = page.json("/audit")["lines"]
    assert [line["what"] for line in lines] == ["add", "edit"] and lines[1]["job"] == "4"
    assert "Carol" not in str(lines) and "Dave" not in str(lines)
