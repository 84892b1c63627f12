"""Several servers in one dashboard, and the name of the environment."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from bullrush import Queue, cli
from bullrush.dashboard import Site, Sites, app
from tests.python.dashboard.page import OWN, Page


@pytest.fixture
def sites(redis_url: str) -> Iterator[Page]:
    """Serve two dashboards: of the prefix ``bull``, and of another one."""

    def made(name: str, prefix: str) -> Site:
        given: Any = {"authenticate": lambda request: "local", "authorize": lambda *_: True, "name": name}
        return Site(name, "127.0.0.1", prefix, app(redis_url, prefix=prefix, **given))

    page = Page(Sites([made("live", "bull"), made("test", "shop")]), "")
    yield page
    page.close()


def test_each_server_is_below_its_name(sites: Page, queue: Queue, redis_url: str) -> None:
    queue.add("x")
    with Queue(queue.name, url=redis_url, prefix="shop") as other:
        other.add_bulk([{"name": "y"}, {"name": "y"}])
        assert [site["name"] for site in sites.json("/")["sites"]] == ["live", "test"]
        assert sites.json(f"/live/q/{queue.name}")["counts"]["waiting"] == 1
        assert sites.json(f"/test/q/{queue.name}")["counts"]["waiting"] == 2
        assert "There is no such server" in sites.json(f"/q/{queue.name}", 404)["error"]
        led = sites.send("POST", f"/test/q/{queue.name}/pause", headers=OWN)
        assert led.headers["location"].startswith(f"/test/q/{queue.name}?done=")
        assert other.is_paused() and not queue.is_paused()
        other.obliterate(force=True)


def test_all_links_of_all_servers_lead_somewhere(sites: Page, queue: Queue) -> None:
    queue.add("x")
    for path in ("/", "/live/", f"/live/q/{queue.name}", "/live/nothing"):
        text = sites.send("GET", path).text
        for link in re.findall(r'(?:href|src)="(/[^"]+)"', text):
            assert sites.send("GET", link.replace("&amp;", "&")).status_code == 200, (path, link)
    assert 'title="All servers">live</a>' in sites.html("/live/") and 'href="/"' in sites.html("/live/")


def test_the_environment_stands_on_every_page(opened: Callable[..., Page], worked: Queue) -> None:
    page = opened(name="production")
    for path in ("/", f"/q/{worked.name}", f"/q/{worked.name}/jobs/1", "/about"):
        assert '<span class="badge environment">production</span>' in page.html(path)
        assert "· production</title>" in page.html(path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a=redis://127.0.0.1/0", "redis://127.0.0.1/1"], "several URLs need a name each"),
        (["a=redis://127.0.0.1/0", "a=redis://127.0.0.1/1"], "several URLs need a name each"),
        (["a=redis://127.0.0.1/0", "b=redis://127.0.0.1/1", "--name", "x"], "--name is for one URL"),
        (["a=redis://127.0.0.1/0", "b=redis://127.0.0.1/1", "--history", "x.db"], "queues of one server"),
        (["a=redis://127.0.0.1/0", "login=redis://127.0.0.1/1"], "the dashboard's own addresses"),
        (["--name", "<b>"], "is no name"),
    ],
)
def test_a_wrong_use_of_names_is_exit_code_2(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(["dashboard", *words])
    except SystemExit as end:
        code = end.code  # type: ignore[assignment]
    assert code == 2 and said in capsys.readouterr().err


def test_the_command_serves_several(queue: Queue, redis_url: str) -> None:
    queue.add("x")
    servers = [f"live={redis_url}", f"test={redis_url}#shop"]
    command = [sys.executable, "-m", "bullrush", "dashboard", *servers, "--history", "none", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        said = json.loads(served.stdout.readline())
        assert set(said["redis"]) == {"live", "test"}
        base = said["url"].partition("/login")[0]
        assert httpx.get(f"{base}/live/").status_code == 401
        with httpx.Client(follow_redirects=True) as browser:
            assert "Servers" in browser.get(said["url"]).text
            assert queue.name in browser.get(f"{base}/live/").text
            assert queue.name not in browser.get(f"{base}/test/").text
        served.terminate()
