"""What the dashboard says about itself, and the pages about routes and flows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from redis import Redis

from bullrush import FlowProducer, Queue, Worker
from bullrush.rights import acl_rule, read_roles
from tests.python.dashboard.page import Page
from tests.python.recorder.recording import Recording
from tests.waiting import wait_until


def test_the_page_says_what_it_costs(page: Page, worked: Queue) -> None:
    found = page.json("/about")
    cost = found["cost"]
    # At least the counts of one queue; others may use the server of the tests.
    assert cost["commands"] >= 5 and cost["microseconds"] > 0
    assert cost["share"] == cost["microseconds"] / 2_000_000
    assert sum(one["calls"] for one in cost["by_command"].values()) == cost["commands"]
    assert "info" not in cost["by_command"] and found["queues"] >= 1
    text = page.html("/about")
    assert "of a core of Redis" in text and "Redis refuses nothing" in text and "--history FILE" in text


def test_the_page_says_which_rights_are_missing(
    opened: Callable[..., Page], worked: Queue, redis: Redis, redis_url: str
) -> None:
    reader = read_roles()["reader"]
    commands = {*reader.needed, *reader.useful}.difference({"zrevrange", "info"})
    redis.execute_command(*acl_rule(sorted(commands), user=worked.name, password="x").split())
    try:
        page = opened(redis_url.replace("//", f"//{worked.name}:x@"))
        found = page.json("/about")
        assert "+zrevrange" in " ".join(found["missing"]) and "info" in found["cost_refused"]
        assert "The user of Redis lacks" in page.html("/about")
    finally:
        redis.acl_deluser(worked.name)


def test_what_is_of_the_whole_server_is_for_who_sees_all_queues(opened: Callable[..., Page], worked: Queue) -> None:
    page = opened(authorize=lambda name, action, queue: queue != worked.name)
    found = page.json("/about")
    assert found["everything"] is False and "cost" not in found and "missing" not in found
    assert worked.name not in page.html("/about")


def test_the_page_says_what_the_recorder_has_not_seen(
    opened: Callable[..., Page], queue: Queue, file: Path, recording: Recording
) -> None:
    queue.add("x")
    page = opened(history=file)
    assert "there is no history" in page.html("/about")
    for job_id in ("2", "3"):
        with recording() as history:
            queue.add("x")
            wait_until(lambda job_id=job_id, history=history: history.find(queue.name, job_id=job_id))
            assert page.json("/about")["history"]["is_written"]
        queue.trim_events(0)
    found = page.json("/about")["history"]
    (flawed,) = found["flawed"]
    assert (found["queues"], flawed["queue"], flawed["gaps"], flawed["share"]) == (1, queue.name, 1, 1)
    assert queue.name in page.html("/about")
    hidden = opened(history=file, authorize=lambda name, action, asked: asked != queue.name)
    assert hidden.json("/about")["history"]["queues"] == 0


def test_routes_are_shown_those_without_a_worker_first(page: Page, queue: Queue, redis_url: str) -> None:
    queue.add("x")
    assert "No job of this queue had a target" in page.html(f"/q/{queue.name}/routes")
    assert f"/q/{queue.name}/routes" not in page.html(f"/q/{queue.name}")
    queue.add("x", target={"capabilities": ["gpu"]})
    queue.add("x", target={"capabilities": ["cpu"]})
    with Worker(
        queue.name, lambda job: None, url=redis_url, profile={"capabilities": ["cpu"]}, autorun=True, name="w"
    ) as worker:
        worker.wait_until_ready()
        wait_until(lambda: [one.unmatched for one in queue.route_status()].count(True) == 1, "it serves its route")
        found = page.json(f"/q/{queue.name}/routes")
        html = page.html(f"/q/{queue.name}/routes")
    assert [(one["target"]["capabilities"], one["unmatched"]) for one in found["routes"]] == [
        (["gpu"], True),
        (["cpu"], False),
    ]
    assert "no worker" in html and f"bullrush routes {queue.name}" in html
    assert f"/q/{queue.name}/routes" in page.html(f"/q/{queue.name}")
    route = found["routes"][0]["queue"]
    assert "which has no routes" in page.json(f"/q/{route.replace(':', '%3A')}/routes", 404)["error"]


def test_a_route_that_somebody_may_not_see_is_not_shown(opened: Callable[..., Page], queue: Queue) -> None:
    queue.add("x", target={"capabilities": ["gpu"]})
    (route,) = queue.route_status()
    page = opened(authorize=lambda name, action, asked: asked != route.queue)
    assert page.json(f"/q/{queue.name}/routes")["routes"] == []
    assert route.queue not in page.html(f"/q/{queue.name}/routes")


def test_a_flow_is_a_tree(page: Page, queue: Queue, redis_url: str) -> None:
    low = {"name": "low", "queue_name": queue.name}
    middle = {"name": "middle", "queue_name": queue.name, "children": [low] * 7}
    with FlowProducer(url=redis_url) as flows:
        root = flows.add({"name": "root", "queue_name": queue.name, "children": [middle, low]})
    found = page.json(f"/q/{queue.name}/flows/{root.job.id}")
    assert (found["name"], found["counts"], found["kind"]) == ("root", {"unprocessed": 2}, "unprocessed")
    by_name = {child["name"]: child for child in found["children"]}
    assert (by_name["middle"]["count"], by_name["middle"]["state"]) == (7, "waiting-children")
    assert [child["name"] for child in by_name["middle"]["below"]] == ["low"] * 5
    assert "all 7 of them" in page.html(f"/q/{queue.name}/flows/{root.job.id}")
    below = page.json(f"/q/{queue.name}/flows/{by_name['middle']['id']}")
    assert [one["name"] for one in below["above"]] == ["root"] and len(below["children"]) == 7
    leaf = page.json(f"/q/{queue.name}/flows/{below['children'][0]['id']}")
    assert [one["name"] for one in leaf["above"]] == ["root", "middle"] and leaf["children"] == []
    assert "There are no such children" in page.json(f"/q/{queue.name}/flows/{root.job.id}?kind=x", 404)["error"]


def test_many_children_come_a_page_at_a_time(page: Page, queue: Queue, redis_url: str) -> None:
    child = {"name": "x", "queue_name": queue.name}
    with FlowProducer(url=redis_url) as flows:
        root = flows.add({"name": "root", "queue_name": queue.name, "children": [child] * 1_000})
    path, seen = f"/q/{queue.name}/flows/{root.job.id}", set[str]()
    found = page.json(path)
    assert found["counts"] == {"unprocessed": 1_000} and len(found["children"]) < 150
    seen.update(one["id"] for one in found["children"])
    assert "Go on" in page.html(path)
    while found["next"]:
        found = page.json(f"{path}?kind=unprocessed&from={found['next']}")
        seen.update(one["id"] for one in found["children"])
    assert len(seen) == 1_000


def test_children_in_queues_that_somebody_may_not_see_are_only_counted(
    opened: Callable[..., Page], queue: Queue, redis_url: str
) -> None:
    theirs = f"hidden-{queue.name}"
    child = {"name": "secret-name", "queue_name": theirs}
    with FlowProducer(url=redis_url) as flows, Queue(theirs, url=redis_url) as hidden:
        middle = {"name": "middle", "queue_name": queue.name, "children": [child]}
        root = flows.add({"name": "root", "queue_name": queue.name, "children": [child, middle]})
        above = flows.add({"name": "above", "queue_name": theirs, "children": [{**middle, "children": []}]})
        page = opened(authorize=lambda name, action, asked: asked == queue.name)
        for job in (root.job, (above.children or [])[0].job):
            path = f"/q/{queue.name}/flows/{job.id}"
            text = page.html(path) + str(page.json(path))
            assert theirs not in text and "secret-name" not in text
        found = page.json(f"/q/{queue.name}/flows/{root.job.id}")
        assert (found["hidden"], found["children"][0]["hidden_below"]) == (1, 1)
        hidden.obliterate(force=True)


def test_a_flow_whose_children_were_removed_is_shown(page: Page, queue: Queue, redis_url: str, redis: Redis) -> None:
    with FlowProducer(url=redis_url) as flows:
        root = flows.add(
            {"name": "root", "queue_name": queue.name, "children": [{"name": "x", "queue_name": queue.name}]}
        )
    with Worker(queue.name, lambda job: "done", url=redis_url) as worker:
        worker.run(until="empty")
    redis.delete(f"bull:{queue.name}:{(root.children or [])[0].job.id}")
    found = page.json(f"/q/{queue.name}/flows/{root.job.id}")
    assert found["kind"] == "processed" and [one["state"] for one in found["children"]] == ["gone"]
    assert "it was removed, or never added" in page.json(f"/q/{queue.name}/flows/99", 404)["error"]
