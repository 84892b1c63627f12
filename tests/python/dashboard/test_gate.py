"""The command: who gets in, by which name, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bullrush import Queue, cli
from bullrush.dashboard import Gate, app
from tests.python.dashboard.page import OWN, Page

HERE = {"Host": "127.0.0.1:8123"}


@pytest.fixture
def gated(redis_url: str) -> Iterator[Callable[..., tuple[Gate, Page]]]:
    """Return a function that closes a gate before a dashboard, and returns both."""
    pages: list[Page] = []

    def close(**options: Any) -> tuple[Gate, Page]:
        gate = Gate(8123, **options)
        gate.app = app(redis_url, authenticate=gate.authenticate, authorize=lambda *_: True)
        pages.append(Page(gate, ""))
        return gate, pages[-1]

    yield close
    for page in pages:
        page.close()


def test_the_link_opens_once_and_then_the_browser_is_known(
    gated: Callable[..., tuple[Gate, Page]], queue: Queue
) -> None:
    gate, page = gated()
    queue.add("x")
    token = gate.token
    closed = page.send("GET", f"/q/{queue.name}", headers=HERE)
    assert closed.status_code == 401 and "Open the link" in closed.text and queue.name not in closed.text
    assert page.send("HEAD", f"/login?token={token}", headers=HERE).status_code == 401
    opened = page.send("GET", f"/login?token={token}", headers=HERE)
    assert (opened.status_code, opened.headers["location"]) == (303, "/")
    (cookie,) = opened.headers.get_list("set-cookie")
    assert re.fullmatch(r"bullrush-8123=[\w-]{32}; HttpOnly; Path=/; SameSite=lax", cookie)
    known = {**HERE, "Cookie": cookie.partition(";")[0]}
    assert page.send("GET", f"/q/{queue.name}", headers=known).status_code == 200
    page.client.cookies.clear()
    assert "used before" in page.send("GET", f"/login?token={token}", headers=HERE).text
    assert page.send("GET", "/", headers={**HERE, "Cookie": "bullrush-8123=guess"}).status_code == 401


def test_a_wrong_token_opens_nothing(gated: Callable[..., tuple[Gate, Page]]) -> None:
    _, page = gated()
    for token in ("", "x", "ä", "None"):
        assert page.send("GET", "/login", params={"token": token}, headers=HERE).status_code == 401


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("127.0.0.1:8123", True),
        ("localhost:8123", True),
        ("localhost", True),
        ("[::1]:8123", True),
        ("[::1]", True),
        ("10.0.0.5:8123", True),
        ("Ops.example.org", True),
        ("evil.example.org:8123", False),
        ("127.0.0.1.evil.example.org", False),
        ("", False),
    ],
)
def test_the_host_is_one_of_ours(gated: Callable[..., tuple[Gate, Page]], host: str, known: bool) -> None:
    _, page = gated(hosts=["ops.example.org"])
    assert page.send("GET", "/", headers={"Host": host}).status_code == (401 if known else 400)


def test_a_password_opens(gated: Callable[..., tuple[Gate, Page]]) -> None:
    gate, page = gated(password="open sesame")
    assert gate.token is None
    assert 'type="password"' in page.send("GET", "/", headers=HERE).text
    headers = {**HERE, **OWN}
    wrong = page.send("POST", "/login", data={"password": "open"}, headers=headers)
    assert wrong.status_code == 403 and "That is not the password" in wrong.text
    assert page.send("POST", "/login", data={"password": "open sesame"}, headers=HERE).status_code == 403
    opened = page.send("POST", "/login", data={"password": "open sesame"}, headers=headers)
    assert opened.status_code == 303
    assert page.send("GET", "/", headers=HERE).status_code == 200


def test_without_a_login_only_the_files_of_the_pages_are_served(gated: Callable[..., tuple[Gate, Page]]) -> None:
    _, page = gated()
    assert page.send("GET", "/static/dashboard.css", headers=HERE).status_code == 200
    for path in ("/", "/static/none", "/static/../app", "/q/x", "/login"):
        assert page.send("GET", path, headers=HERE).status_code == 401, path


def test_who_is_not_logged_in_is_told_what_to_do_also_as_json(gated: Callable[..., tuple[Gate, Page]]) -> None:
    for options, what in (({}, "Open the link"), ({"password": "x"}, "Type the password")):
        _, page = gated(**options)
        closed = page.send("GET", "/q/mail", headers={**HERE, "Accept": "application/json"})
        assert closed.status_code == 401 and what in closed.json()["error"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "0.0.0.0"], "whoever reaches 0.0.0.0 could get in"),
        (["--host", "ops.example.org"], "could get in"),
        (["--password-file", "/nowhere"], "/nowhere"),
        (["--port", "70000"], "is no port"),
        (["redis://127.0.0.1/0", "--url", "redis://127.0.0.1/1"], "give the URL once"),
    ],
)
def test_a_wrong_use_is_exit_code_2(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(["dashboard", *words])
    except SystemExit as end:
        code = end.code  # type: ignore[assignment]
    assert code == 2 and said in capsys.readouterr().err


def test_an_empty_password_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").write_text("\n")
    assert cli.main(["dashboard", "--password-file", str(tmp_path / "empty")]) == 2
    assert "has no password" in capsys.readouterr().err


def test_the_command_serves_until_ctrl_c(queue: Queue, redis_url: str) -> None:
    queue.add("x", {"password": "hunter2"})
    command = [sys.executable, "-m", "bullrush", "dashboard", redis_url, "--json", "--read-only", "--mask", "password"]
    command += ["--history", "none"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as served:
        assert served.stdout is not None
        said = json.loads(served.stdout.readline())
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/login\?token=[\w-]+", said["url"])
        with httpx.Client(follow_redirects=True) as browser:
            assert queue.name in browser.get(said["url"]).text
            base = said["url"].partition("/login")[0]
            job = browser.get(f"{base}/q/{queue.name}/jobs/1")
            assert "hunter2" not in job.text and "read-only" in job.text and "server" not in job.headers
            assert browser.post(f"{base}/q/{queue.name}/pause", headers=OWN).status_code == 403
        served.send_signal(signal.SIGINT)
        out, err = served.communicate(timeout=20)
    assert (served.returncode, out, err) == (130, "", "")


def test_a_port_that_is_taken_is_said(redis_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    from bullrush.dashboard import listen

    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        assert cli.main(["dashboard", redis_url, "--port", port]) == 2
    assert "Address already in use" in capsys.readouterr().err
