"""The dashboard in programs of others, below any path."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from typing import Any

from bullrush import Queue
from bullrush.dashboard import app
from tests.python.dashboard.page import Page


def made(url: str) -> Any:
    return app(url, authenticate=lambda request: "ada", authorize=lambda *_: True)


def check(page: Page, queue: Queue) -> None:
    """Look whether all links of two pages lead somewhere."""
    with closing(page):
        follow(page, queue)


def follow(page: Page, queue: Queue) -> None:
    for path in ("/", f"/q/{queue.name}"):
        for link in re.findall(r'(?:href|src)="(/[^"]+)"', page.html(path)):
            link = link.replace("&amp;", "&")
            assert link.startswith(f"{page.root}/"), link
            assert page.send("GET", link.removeprefix(page.root)).status_code == 200, link
    queue.add("x", job_id="a/b")
    assert page.json(f"/q/{queue.name}/jobs/a%2Fb")["id"] == "a/b"


def test_in_fastapi(redis_url: str, worked: Queue) -> None:
    from fastapi import FastAPI

    api = FastAPI()
    api.mount("/team one/ops", made(redis_url))
    check(Page(api, "/team%20one/ops"), worked)


def test_beside_an_app_of_django(redis_url: str, worked: Queue) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    async def django(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("this was not for Django")

    check(
        Page(Starlette(routes=[Mount("/admin/queues", made(redis_url)), Mount("/", django)]), "/admin/queues"), worked
    )


def test_alone(redis_url: str, worked: Queue) -> None:
    check(Page(made(redis_url), ""), worked)


def test_behind_a_proxy_that_strips_its_prefix(redis_url: str, worked: Queue) -> None:
    """The server is told the prefix as root_path; the paths that it gets do not have it."""
    inner = made(redis_url)

    async def stripped(scope: Any, receive: Any, send: Any) -> None:
        raw = scope["raw_path"].removeprefix(b"/ops")
        await inner(
            {**scope, "path": scope["path"].removeprefix("/ops"), "raw_path": raw, "root_path": "/ops"}, receive, send
        )

    check(Page(stripped, "/ops"), worked)


def test_without_the_raw_path_pages_are_found(redis_url: str, worked: Queue) -> None:
    inner = made(redis_url)

    async def poor(scope: Any, receive: Any, send: Any) -> None:
        await inner({name: value for name, value in scope.items() if name != "raw_path"}, receive, send)

    page = Page(poor, "")
    assert page.json(f"/q/{worked.name}/jobs/1")["id"] == "1"
    page.close()


def test_import_of_the_package_loads_nothing_of_it() -> None:
    program = (
        "import sys, bullrush, bullrush.cli\n"
        "assert not {'starlette', 'jinja2', 'uvicorn', 'bullrush.dashboard'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
