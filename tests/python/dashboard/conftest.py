"""A dashboard over the test's own server, as a program mounts it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from bullrush import Queue, Worker
from bullrush.dashboard import app
from bullrush.recorder import History, Recorder

#: What browsers send with a form of the page itself.
OWN = {"Sec-Fetch-Site": "same-origin"}
#: What htmx sends when it asks for the live part of a page.
POLL = {"HX-Request": "true", "Accept": "text/html"}


#: Records queues while a block runs, and returns their history.
Recording: TypeAlias = Callable[..., AbstractContextManager[History]]


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


@pytest.fixture
def opened(redis_url: str) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a dashboard; by default somebody looks who may do everything."""
    pages: list[Page] = []

    def open_it(url: str = redis_url, **options: Any) -> Page:
        given = {"authenticate": lambda request: "ada", "authorize": lambda name, action, queue: True, **options}
        pages.append(Page(Starlette(routes=[Mount("/ops", app(url, **given))])))
        return pages[-1]

    yield open_it
    for page in pages:
        page.close()


@pytest.fixture
def page(opened: Callable[..., Page]) -> Page:
    return opened()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a recorder of the test writes."""
    return tmp_path / "history.db"


@pytest.fixture
def recording(file: Path, redis_url: str) -> Recording:
    @contextmanager
    def record(*queues: str) -> Iterator[History]:
        with Recorder(file, redis_url, queues=queues) as recorder:
            running = threading.Thread(target=recorder.run)
            running.start()
            try:
                with History(file) as history:
                    yield history
            finally:
                recorder.stop()
                running.join()

    return record


@pytest.fixture
def worked(queue: Queue, redis_url: str) -> Queue:
    """Return a queue with a completed job 1, failed jobs 2 and 3, a waiting job 4 and a delayed job 5."""

    def charge(job: Any) -> Any:
        if job.name == "broken":
            raise ValueError(f"no user {job.id}")
        job.log("sent the first mail")
        return {"sent": True}

    queue.add("welcome", {"user": "Ada"})
    queue.add("broken", {"user": "Eve"})
    queue.add("broken", {"user": "Mallory"})
    with Worker(queue.name, charge, url=redis_url, name="mailer") as worker:
        worker.run(until="empty")
    queue.add("digest", {"user": "Bob"})
    queue.add("later", {"user": "Bob"}, delay=3_600_000)
    return queue
