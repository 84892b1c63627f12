"""Who sees what: rights, masks, hostile texts, and pages that change nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, unquote

import pytest
from redis import Redis

from bullrush import FlowProducer, Queue, Worker
from bullrush.dashboard.rights import ACTIONS
from bullrush.dashboard.routes import ROUTES
from tests.python.dashboard.page import OWN, Page

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
#: What roles may do, as in the docs.
ROLES: dict[str, set[str]] = {
    "viewer": {"view", "data"},
    "operator": {"view", "data", "run", "pause"},
    "admin": set(ACTIONS),
}
#: Pages about all queues that somebody may see.
EACH = ["/", "/about", "/failures", "/workers", "/schedulers", "/audit"]
#: Each page of a queue, beside the first page.
PLACES = ("", "/jobs/1", "/failures", "/workers", "/slow", "/schedulers", "/routes", "/flows/1", "/history")
FORMS = ("/add", "/add?like=1", "/edit/1")


def dump(redis: Redis) -> dict[str, Any]:
    return {key: redis.dump(key) for key in redis.scan_iter("*")}


def raw(redis_url: str) -> Redis:
    return Redis.from_url(redis_url)


def test_a_look_changes_no_key(page: Page, worked: Queue, redis_url: str) -> None:
    with raw(redis_url) as client:
        before = dump(client)
        for path in (
            *EACH,
            *(f"/q/{worked.name}{place}" for place in (*PLACES, *FORMS)),
            f"/q/{worked.name}?where=name:b*+data.user:*+error:x&state=failed",
        ):
            page.html(path)
            page.json(path)
        page.json("/q/never-used", 404)
        assert dump(client) == before


def test_every_route_declares_a_right() -> None:
    assert [route for route in ROUTES if route.right not in (*ACTIONS, "each")] == []
    assert [route.path for route in ROUTES if route.right == "each"] == EACH
    assert [route for route in ROUTES if route.right == "each" and route.method != "get"] == []
    assert [route for route in ROUTES if route.method == "post" and route.right in ("view", "data")] == []


@pytest.mark.parametrize("role", ["nobody", *ROLES])
def test_every_route_has_its_status_for_every_role(opened: Callable[..., Page], worked: Queue, role: str) -> None:
    page = opened(
        authenticate=lambda request: None if role == "nobody" else role,
        authorize=lambda name, action, queue: action in ROLES[name],
    )
    form = {"id": "1", "failure": "none", "until": "1", "state": "failed", "preview": "1"}
    form |= {"name": "x", "data": "{}", "seen": "none"}
    for route in ROUTES:
        path = route.path.replace("{queue}", worked.name).replace("{id}", "1")
        got = page.send(route.method.upper(), path, headers=OWN, data=form)
        if role == "nobody":
            assert got.status_code == 401 and worked.name not in got.text, path
        elif route.right == "each" or route.right in ROLES[role]:
            assert got.status_code in (200, 303, 409), path
        else:
            assert got.status_code == 403, path


def test_both_questions_may_be_async(opened: Callable[..., Page], worked: Queue) -> None:
    async def authenticate(request: object) -> str:
        return "ada"

    async def authorize(name: str, action: str, queue: str) -> bool:
        return action == "view"

    page = opened(authenticate=authenticate, authorize=authorize)
    assert page.json(f"/q/{worked.name}")["may"] == ["view"]


def test_neither_question_has_a_default() -> None:
    from bullrush.dashboard import app

    with pytest.raises(TypeError):
        app("redis://127.0.0.1:1")  # type: ignore[call-arg]


def test_without_the_right_no_data_and_no_error_is_shown(opened: Callable[..., Page], worked: Queue) -> None:
    page = opened(authorize=lambda name, action, queue: action == "view")
    texts = [page.html(path) for path in ("/", f"/q/{worked.name}", f"/q/{worked.name}?state=failed")]
    texts += [page.html(f"/q/{worked.name}/jobs/{number}") for number in range(1, 6)]
    texts += [str(page.json(f"/q/{worked.name}/jobs/{number}")) for number in range(1, 6)]
    for secret in ("Ada", "Eve", "no user 2", "Traceback", "sent the first mail"):
        assert not [text for text in texts if secret in text], secret
    page.json(f"/q/{worked.name}/failures", 403)
    assert "have no right 'data'" in page.json(f"/q/{worked.name}?state=failed&failure=x", 403)["error"]


def test_who_sees_one_queue_finds_no_trace_of_another(
    opened: Callable[..., Page], queue: Queue, queue_name: str, redis_url: str, redis: Redis
) -> None:
    other = f"{queue_name}-x"
    ours, theirs = queue_name, f"hidden-{other}"
    with FlowProducer(url=redis_url) as flows, Queue(theirs, url=redis_url) as hidden:
        child = {"name": "part", "queue_name": theirs}
        breaking = {**child, "opts": {"fail_parent_on_failure": True}}
        waiting = flows.add({"name": "whole", "queue_name": ours, "children": [child]}).job
        failing = flows.add({"name": "whole", "queue_name": ours, "children": [breaking]}).job
        below = flows.add({"name": "above", "queue_name": theirs, "children": [{"name": "low", "queue_name": ours}]})
        with Worker(theirs, _always_fails, url=redis_url) as worker:
            worker.run(max_jobs=2)
        hidden.add("x")
        with Worker(ours, lambda job: None, url=redis_url) as worker:
            worker.run(until="empty")
        page = opened(authorize=lambda name, action, queue: queue == ours)
        assert theirs in queue.why(waiting.id).sentence and theirs in queue.why(failing.id).sentence
        ids = {waiting.id, failing.id, *(node.job.id for node in below.children or [])}
        places = [*PLACES, *FORMS, *(f"/jobs/{job_id}" for job_id in ids), "?state=failed", "?state=waiting-children"]
        places += [f"/flows/{job_id}" for job_id in ids]
        paths = [*EACH, *(f"/q/{ours}{place}" for place in places)]
        texts = [text for path in paths for text in page.all_of(path)]
        assert len(texts) > 40 and ours in texts[0]
        assert [text for text in texts if theirs in text] == []
        for method, path in (("GET", ""), ("GET", "/jobs/1"), ("GET", "/failures"), ("POST", "/pause")):
            known = page.send(method, f"/q/{theirs}{path}", headers=OWN)
            unknown = page.send(method, f"/q/{theirs[:-1]}y{path}", headers=OWN)
            assert known.status_code == unknown.status_code == 404
            assert known.text.replace(theirs, "") == unknown.text.replace(f"{theirs[:-1]}y", "")
        assert page.json("/")["searched"] is None
        hidden.obliterate(force=True)


def test_nothing_is_shown_of_children_with_another_prefix(page: Page, queue: Queue, redis_url: str) -> None:
    hidden = f"hidden-{queue.name}"
    child = {"name": "part", "queue_name": hidden, "prefix": "other"}
    breaking = {**child, "opts": {"fail_parent_on_failure": True}}
    with FlowProducer(url=redis_url) as flows, Queue(hidden, url=redis_url, prefix="other") as elsewhere:
        nodes = [
            flows.add({"name": "w", "queue_name": queue.name, "children": [one, one]}) for one in (child, breaking)
        ]
        with Worker(hidden, _always_fails, url=redis_url, prefix="other") as worker:
            worker.run(max_jobs=4)
        with Worker(queue.name, lambda job: None, url=redis_url) as worker:
            worker.run(until="empty")
        waiting, failed = (node.job.id for node in nodes)
        assert hidden in queue.why(waiting).sentence and hidden in queue.why(failed).sentence
        found = page.json(f"/q/{queue.name}/jobs/{waiting}")
        assert found["sentence"] == "It waits for children, of which some are in queues that you may not see."
        assert (found["children"]["count"], found["children"]["hidden"]) == (2, 2)
        places = (f"/jobs/{waiting}", f"/jobs/{failed}", f"/flows/{waiting}", "/failures", "?state=failed")
        paths = ("/", *(f"/q/{queue.name}{place}" for place in places))
        assert [path for path in paths if any(hidden in text for text in page.all_of(path))] == []
        elsewhere.obliterate(force=True)


def _always_fails(job: object) -> None:
    raise ValueError("no")


def test_masked_fields_are_in_no_byte(opened: Callable[..., Page], queue: Queue, redis_url: str) -> None:
    secret, number = "hunter2 \"é'\\", 4111_1111_1111_1111

    def leak(job: Any) -> Any:
        job.log(f"logs {secret} and {number}")
        job.update_progress({"password": secret, "at": f"x{secret}"})
        if job.name.startswith("bad"):
            raise ValueError(f"rejected {secret!r} and {secret} for {number}")
        return {"nested": [{"PassWord": secret}], "note": f"used {secret}"}

    for name in ("good", f"bad {secret}"):
        queue.add(
            name, {"user": {"password": secret, "card": {"number": number, "cvv": "123"}}, "note": f"is {secret}"}
        )
    with Worker(queue.name, leak, url=redis_url) as worker:
        worker.run(until="empty")
    page = opened(mask=["password", "card"])
    (group,) = page.json(f"/q/{queue.name}/failures")["groups"]
    more = ("/edit/2", "/add?like=2", "/jobs/2", "/flows/2", "?state=failed", "?state=completed")
    paths = [
        *EACH,
        *(f"/q/{queue.name}{place}" for place in (*PLACES, *FORMS, *more)),
    ]
    paths.append(f"/q/{queue.name}?state=failed&failure={group['id']}")
    for path in paths:
        for text in page.all_of(path):
            assert "hunter2" not in text and str(number) not in text and '"123"' not in text, path
    assert page.json(f"/q/{queue.name}/jobs/1")["data"] == {
        "user": {"password": "***", "card": "***"},
        "note": "is ***",
    }


def test_every_response_has_the_policy(page: Page, worked: Queue) -> None:
    for method, path, options in (
        ("GET", "/", {}),
        ("GET", f"/q/{worked.name}?format=json", {}),
        ("GET", "/nothing", {}),
        ("GET", "/static/dashboard.css", {}),
        ("GET", "/static/keys.js", {}),
        ("POST", f"/q/{worked.name}/pause", {}),
        ("POST", f"/q/{worked.name}/pause", {"headers": OWN}),
        ("PUT", "/", {}),
    ):
        got = page.send(method, path, **options)
        assert got.headers["content-security-policy"] == POLICY
        assert got.headers["x-content-type-options"] == "nosniff"


class Inspector(HTMLParser):
    """Notes what would run, and what the page says in attributes that lead somewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.tags: set[str] = set()
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._in_script = tag in ("script", "style")
        for name, value in attrs:
            if name.startswith("on") or name == "style":
                self.inline.append(f"{tag} {name}")
            if name in ("href", "src", "action") and not str(value).startswith(("/ops/", "?")):
                self.inline.append(f"{tag} {name}={value}")

    def handle_data(self, data: str) -> None:
        if self._in_script and data.strip():
            self.inline.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False


PAYLOADS = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "</title><script>alert(1)</script>",
    "</pre><iframe srcdoc=x>",
    "{{ 7*7 }}{% raw %}",
    "<a href='javascript:alert(1)'>x</a>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\u202e<b onmouseover=alert(1)>\u0000",
    "x' autofocus onfocus='alert(1)",
    "<style>*{display:none}</style>",
]  # fmt: skip


@pytest.fixture
def hostile(queue_name: str, redis_url: str) -> Iterator[list[str]]:
    """Return the names of queues whose names, jobs, logs, errors, results and schedulers are hostile."""

    def leak(job: Any) -> Any:
        payload = next(iter(job.data))
        job.log(payload)
        if job.name == "fails":
            raise ValueError(payload)
        return payload

    names = []
    for payload in PAYLOADS:
        plain = re.sub(r"[\x00:\u202e]", "", payload)
        names.append(f"{queue_name}{plain}")
        with Queue(names[-1], url=redis_url) as queue:
            queue.add(plain, {payload: payload}, job_id=f"a{plain}")
            queue.add("fails", {payload: payload})
            queue.upsert_job_scheduler(plain, {"every": 3_600_000}, {"name": plain})
            with Worker(names[-1], leak, url=redis_url, name="w") as worker:
                worker.run(max_jobs=2)
    yield names
    for name in names:
        with Queue(name, url=redis_url) as queue:
            queue.obliterate(force=True)


def links_of(text: str) -> set[str]:
    return {html.unescape(link) for link in re.findall(r'href="/ops(/q/[^"]+)"', text)}


def test_hostile_texts_run_nowhere(page: Page, hostile: list[str]) -> None:
    texts = [page.html("/"), *(re.sub(r'(?s)<svg class="spark".*?</svg>', "", page.html(place)) for place in EACH)]
    assert {line["queue"] for line in page.json("/")["queues"]}.issuperset(hostile)
    first = {link for link in links_of(texts[0]) if unquote(link).startswith(f"/q/{hostile[0][:20]}")}
    texts += [page.html(link) for link in first]
    texts += [page.html(link) for link in {link for text in texts for link in links_of(text)} - first]
    assert len(texts) > 8 * len(hostile)
    for payload in PAYLOADS:
        # What is refused quotes what was asked for.
        asked = {"state": payload, "name": payload, "failure": payload}
        texts += [page.send("GET", path, params=asked).text for path in ("/q/x", f"/q/{quote(hostile[0], safe='')}")]
        texts.append(page.send("GET", f"/q/{quote(payload, safe='')}").text)
    for text in texts:
        inspector = Inspector()
        inspector.feed(text)
        assert inspector.inline == [] and inspector.tags.isdisjoint({"iframe", "svg", "img", "style", "b\x00"}), text
