"""The dashboard beside a site of Django: who is logged in there is known here."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

for package in ("httpx", "jinja2", "starlette", "uvicorn"):  # which the environment of Django 6 does not have
    pytest.importorskip(package)

import httpx  # noqa: E402

from bullrush import Queue  # noqa: E402
from tests.servers.ports import free_port  # noqa: E402
from tests.waiting import wait_until  # noqa: E402

#: One site for all tests.
pytestmark = pytest.mark.xdist_group("django-site")
QUEUES = "/ops/queues"
OWN = {"Sec-Fetch-Site": "same-origin", "Accept": "application/json"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Serve a site of Django, and return where it is and which Redis its dashboard shows."""
    from bullrush.embedded import EmbeddedRedis

    with EmbeddedRedis(port=0, password="") as server:
        port = free_port()
        environment = {
            **os.environ,
            "SITE_REDIS": server.url,
            "SITE_DATABASE": str(tmp_path_factory.mktemp("site") / "site.sqlite3"),
        }
        words = ["-m", "uvicorn", "tests.python.django.site:application", "--port", str(port), "--lifespan", "off"]
        with subprocess.Popen(
            [sys.executable, *words, "--log-level", "warning"], env=environment, cwd=Path(__file__).parents[3]
        ) as served:
            address = f"http://127.0.0.1:{port}"
            try:
                wait_until(lambda: _answers(address))
                yield address, server.url
            finally:
                served.terminate()


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/").status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def browser(site: tuple[str, str]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=site[0]) as client:
        yield client


@pytest.fixture
def mail(site: tuple[str, str]) -> Iterator[Queue]:
    with Queue("mail", url=site[1]) as queue:
        queue.add("welcome", {"user": "Eve"})
        yield queue
        queue.obliterate(force=True)


def test_who_is_logged_in_to_django_is_known(browser: httpx.Client, mail: Queue) -> None:
    assert browser.get("/").text == "this is Django, AnonymousUser"
    assert browser.get(f"{QUEUES}/").status_code == 401
    browser.get("/login/?name=ada")
    page = browser.get(f"{QUEUES}/q/mail")
    assert page.status_code == 200 and ">ada<" in page.text and f'href="{QUEUES}/q/mail/jobs/1"' in page.text
    assert browser.post(f"{QUEUES}/q/mail/pause", headers=OWN).status_code == 200 and mail.is_paused()
    browser.get("/logout/")
    assert browser.get(f"{QUEUES}/q/mail").status_code == 401


def test_the_rights_of_the_user_hold(browser: httpx.Client, mail: Queue) -> None:
    browser.get("/login/?name=bob")
    shown = browser.get(f"{QUEUES}/q/mail/jobs/1")
    assert shown.status_code == 200 and "Eve" not in shown.text
    assert browser.post(f"{QUEUES}/q/mail/pause", headers=OWN).status_code == 403 and not mail.is_paused()


def test_a_cookie_that_is_not_of_django_opens_nothing(browser: httpx.Client, mail: Queue) -> None:
    for value in ("guess", "a" * 32, "../../etc/passwd", "%00"):
        assert browser.get(f"{QUEUES}/", headers={"Cookie": f"sessionid={value}"}).status_code == 401


def test_who_is_dismissed_is_out_at_once_and_keeps_the_session(browser: httpx.Client, mail: Queue) -> None:
    browser.get("/login/?name=bob")
    assert browser.get(f"{QUEUES}/").status_code == 200
    browser.get("/dismiss/?name=bob")
    for _ in range(2):
        assert browser.get(f"{QUEUES}/").status_code == 401
    assert "sessionid" in browser.cookies
