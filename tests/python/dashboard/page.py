"""Somebody who looks at a dashboard, as a program mounts it."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from redis import Redis
from starlette.applications import Starlette
from starlette.routing import Mount

from bullrush.dashboard import app

#: What browsers send with a form of the page itself.
OWN = {"Sec-Fetch-Site": "same-origin"}
#: What htmx sends when it asks for the live part of a page.
POLL = {"HX-Request": "true", "Accept": "text/html"}


class Page:
    """A client of a dashboard that is mounted at ``/ops``."""

    def __init__(self, app: Any, root: str = "/ops") -> None:
        self.root = root
        self.loop = asyncio.new_event_loop()
        self.client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://ops.test", timeout=30)

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request, and return the response."""
        return self.loop.run_until_complete(self.client.request(method, f"{self.root}{path}", **options))

    def html(self, path: str, status: int = 200) -> str:
        """Return a page for people."""
        got = self.send("GET", path, headers={"Accept": "text/html"})
        assert got.status_code == status, got.text
        return got.text

    def json(self, path: str, status: int = 200) -> Any:
        """Return a page for programs."""
        got = self.send("GET", path, headers={"Accept": "application/json"})
        assert got.status_code == status, got.text
        return got.json()

    def all_of(self, path: str) -> list[str]:
        """Return all that a page sends: for people, for programs, and its live part."""
        ways = ({"Accept": "text/html"}, {"Accept": "application/json"}, POLL)
        return [self.send("GET", path, headers=headers).text for headers in ways]

    def post(self, path: str, status: int = 200, headers: dict[str, str] = OWN, **form: object) -> Any:
        """Send a form, and return what is answered to a program."""
        got = self.send("POST", path, data=form, headers={"Accept": "application/json", **headers})
        assert got.status_code == status, got.text
        return got.json()

    def press(self, path: str, came_from: str, **form: object) -> httpx.Response:
        """Send a form as a browser does from a page, and return the response."""
        page = {"Referer": f"http://ops.test{self.root}{came_from}", "Accept": "text/html"}
        return self.send("POST", path, data=form, headers={**OWN, **page})

    def close(self) -> None:
        self.loop.run_until_complete(self.client.aclose())
        self.loop.close()


def mounted(url: str, **options: Any) -> Page:
    """Mount a dashboard and look at it; by default as somebody who may do everything."""
    given = {"authenticate": lambda request: "ada", "authorize": lambda name, action, queue: True, **options}
    return Page(Starlette(routes=[Mount("/ops", app(url, **given))]))


def said(page: Page, queue: str) -> list[str]:
    """Return the sentences of the first page about a queue."""
    return [one["text"] for one in page.json("/?all=1")["attention"] if one["queue"] == queue]


def older(redis: Redis, queue: str, milliseconds: int) -> None:
    """Let all jobs of a queue have been added earlier."""
    for key in redis.scan_iter(f"bull:{queue}:*"):
        if redis.type(key) == "hash" and (added := redis.hget(key, "timestamp")):
            redis.hset(key, "timestamp", int(added) - milliseconds)
