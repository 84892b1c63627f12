"""The dashboard for a long time, with twenty tabs and a Redis that is restarted: its memory must stay as it is.

usage: python -m tests.boards.soak [--seconds 1800] [--record]

Nineteen tabs are clients of HTTP that ask as a browser does, and one is a real page. With --record it writes
docs/reliability/dashboard-soak.json, and from that the block of docs/dashboard.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx

from benches.harness.report import piped
from bullrush import Queue, Worker
from bullrush.embedded import EmbeddedRedis
from bullrush.errors import BullrushError

from .browser import Browser, find_chromium
from .incidents import quiet_logs, serving

ROOT: Final = Path(__file__).parents[2]
RESULT: Final = ROOT / "docs/reliability/dashboard-soak.json"
PAGE: Final = ROOT / "docs/dashboard.md"
BEGIN, END = "<!-- measured: soak -->", "<!-- /measured -->"

TABS: Final = 20
#: What its process may need, in MB, and by how much it may grow after the first third of the time.
MOST_MB: Final = 150
MOST_GROWTH: Final = 0.1
#: Seconds between two restarts of Redis, and for how long it is away: a page waits for its return, or says that it is
#: away.
RESTART_EVERY: Final = (15.0, 120.0)
AWAY: Final = (1.0, 8.0)
#: A browser asks for the live part every 2 s, and somebody who looks goes on after some of these.
POLL_EVERY: Final = 2.0
POLLS: Final = 5
PASSWORD: Final = "soak"
#: While Redis is away, a page says so. Anything else of the server's is a fault of the dashboard.
WELL: Final = frozenset({200, 204, 404, 502, 503})
PATHS: Final = (
    "/",
    "/q/mail",
    "/q/mail?state=failed",
    "/q/mail?state=completed&where=welcome",
    "/q/mail?state=failed&where=data.user%3E100",
    "/failures",
    "/workers",
    "/schedulers",
    "/audit",
    "/about",
    "/q/mail/failures",
    "/q/mail/workers",
    "/q/mail/slow",
    "/q/mail/history?outcome=failed",
    "/q/mail/jobs/7",
    "/q/mail/routes",
)


class Soak:
    """Tabs that look at a dashboard, and what its process needs meanwhile.

    Attributes:
        statuses: how often each status was answered; 0 is no answer.
        restarts: how often Redis was restarted.
        slow_pages: how often the browser has not shown a page in its time, as on a busy machine.
        samples: pairs of seconds and MB.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.statuses: Counter[int] = Counter()
        self.restarts = self.slow_pages = 0
        self.samples: list[tuple[float, float]] = []
        self._over = threading.Event()

    def run(self, browser: Browser) -> None:
        """Run it."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            (folder / "password").write_text(PASSWORD)
            server = stack.enter_context(EmbeddedRedis(folder / "redis", port=0, password=""))
            stack.enter_context(_busy(server.url, self._over))
            options = ["--password-file", str(folder / "password"), "--history", str(folder / "history.db")]
            served, address = stack.enter_context(serving(server.url, *options))
            address = address.partition("/login")[0].rstrip("/")
            threads = [
                threading.Thread(target=self._sample, args=(served.pid,)),
                threading.Thread(target=self._restart, args=(server,)),
                threading.Thread(target=asyncio.run, args=(self._look(address),)),
            ]
            for thread in threads:
                thread.start()
            try:
                self._browse(browser, address)
            finally:
                self._over.set()
                for thread in threads:
                    thread.join()

    def _sample(self, process: int) -> None:
        began = time.monotonic()
        while not self._over.wait(max(0.5, self.seconds / 300)):
            self.samples.append((round(time.monotonic() - began, 1), round(_resident(process), 1)))

    def _restart(self, server: EmbeddedRedis) -> None:
        least, most = RESTART_EVERY
        while not self._over.wait(max(least, min(most, self.seconds / 4))):
            server.kill()
            self._over.wait(AWAY[self.restarts % 2])
            server.restart()
            self.restarts += 1

    def _browse(self, browser: Browser, address: str) -> None:
        """Look at the first page and at a queue in turns; the page asks for its live part by itself."""
        browser("open", f"{address}/login")
        browser("click", "input[name=password]")
        browser("type", PASSWORD)
        browser("press", "Enter")
        browser("at", "/")
        end, turn = time.monotonic() + self.seconds, 0
        while (left := end - time.monotonic()) > 0:
            self._over.wait(min(left, 10.0))
            turn += 1
            try:
                browser("open", address + ("/q/mail?state=failed", "/")[turn % 2])
            except AssertionError:
                self.slow_pages += 1
        with suppress(AssertionError):
            browser("complaints")  # of what was not answered while Redis was away
            browser("open", "about:blank")

    async def _look(self, address: str) -> None:
        limits = httpx.Limits(max_connections=TABS)
        async with httpx.AsyncClient(base_url=address, timeout=30, limits=limits) as client:
            login = await client.post("/login", data={"password": PASSWORD}, headers={"Sec-Fetch-Site": "same-origin"})
            assert login.status_code == 303, login.text
            await asyncio.gather(*(self._tab(client, number) for number in range(TABS - 1)))

    async def _tab(self, client: httpx.AsyncClient, number: int) -> None:
        choice = random.Random(number)
        while not self._over.is_set():
            path, tag = choice.choice(PATHS), ""
            await self._ask(client, path, {"Accept": "text/html"})
            for _ in range(POLLS):
                await asyncio.sleep(min(POLL_EVERY, self.seconds / 10))
                if self._over.is_set():
                    return
                given = {"HX-Request": "true", "Accept": "text/html", **({"If-None-Match": tag} if tag else {})}
                tag = await self._ask(client, path, given)

    async def _ask(self, client: httpx.AsyncClient, path: str, headers: dict[str, str]) -> str:
        """Send a request, and return the name of what was answered."""
        try:
            got = await client.get(path, headers=headers)
        except httpx.HTTPError:
            self.statuses[0] += 1
            return ""
        self.statuses[got.status_code] += 1
        return got.headers.get("ETag", "")

    def result(self) -> dict[str, Any]:
        """Return what was seen, and what must not have been."""
        memory = [megabytes for _, megabytes in self.samples]
        early, late = ends(memory)
        found = []
        if not memory or max(memory) > MOST_MB:
            found.append(f"its process needed {max(memory, default=0)} MB, more than {MOST_MB}")
        if late > early * (1 + MOST_GROWTH):
            found.append(f"its memory grew from {early} to {late} MB after the first third of the time")
        found += [f"{count} times {status}" for status, count in self.statuses.items() if status not in WELL]
        if not self.restarts:
            found.append("Redis was never restarted")
        return {
            "seconds": self.seconds,
            "tabs": TABS,
            "requests": sum(self.statuses.values()),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "restarts": self.restarts,
            "slow pages of the browser": self.slow_pages,
            "megabytes": {"most": max(memory, default=0), "after a third": early, "at the end": late},
            "python": platform.python_version(),
            "violations": found,
            "samples": self.samples,
        }


def ends(values: list[float]) -> tuple[float, float]:
    """Return the medians of the first and of the last fifth of what follows the first third."""
    after = values[len(values) // 3 :]
    fifth = max(1, len(after) // 5)
    return (median(after[:fifth]), median(after[-fifth:])) if after else (0, 0)


def _resident(process: int) -> float:
    """Return the resident memory of a process in MB."""
    (line,) = (one for one in Path(f"/proc/{process}/status").read_text().splitlines() if one.startswith("VmRSS:"))
    return int(line.split()[1]) / 1_024


@contextmanager
def _busy(url: str, over: threading.Event) -> Iterator[None]:
    """Keep a queue busy in which every third job fails."""

    def work(job: Any) -> None:
        if job.data["user"] % 3 == 0:
            raise ValueError(f"user {job.data['user']} has no address")

    def add(queue: Queue) -> None:
        number = 0
        while not over.wait(0.02):
            number += 1
            with suppress(BullrushError):
                queue.add(
                    ("welcome", "digest")[number % 2], {"user": number}, remove_on_complete=1_000, remove_on_fail=1_000
                )

    with quiet_logs(), Queue("mail", url=url, timeout=2_000) as queue:
        queue.upsert_job_scheduler("hourly", {"every": 3_600_000}, {"name": "report", "data": {"user": 1}})
        with Worker("mail", work, url=url, concurrency=4, autorun=True):
            feeder = threading.Thread(target=add, args=(queue,))
            feeder.start()
            yield
            over.set()
            feeder.join()


def paragraph(result: dict[str, Any]) -> str:
    """Return what the docs say of a result."""
    memory, minutes = result["megabytes"], result["seconds"] / 60
    rows = [
        [f"{result['tabs']} tabs for {minutes:g} minutes", ""],
        ["requests", f"{result['requests']:,}"],
        ["restarts of Redis meanwhile", f"{result['restarts']:,}"],
        ["resident memory of the dashboard, at most", f"{memory['most']:.0f} MB"],
        [
            "the same after a third of the time, at the end",
            f"{memory['after a third']:.0f} MB, {memory['at the end']:.0f} MB",
        ],
    ]
    return "\n".join([*piped(rows), "", f"Python {result['python']}; measured by `make dashboard-soak`."])


def main() -> int:
    """Run it, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1_800)
    parser.add_argument("--record", action="store_true", help="write the result, and the block of the docs")
    given = parser.parse_args()
    chromium = find_chromium()
    assert chromium is not None, "there is no Chromium here: set CHROMIUM"
    soak = Soak(given.seconds)
    print(f"{TABS} tabs for {given.seconds:g} s; then the result is shown.", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(chromium, Path(profile))
        try:
            soak.run(browser)
        finally:
            browser.close()
    result = soak.result()
    print(json.dumps({name: value for name, value in result.items() if name != "samples"}, indent=1))
    if given.record:
        RESULT.write_text(json.dumps(result) + "\n")
        head, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{paragraph(result)}\n{END}{rest.partition(END)[2]}")
    return 1 if result["violations"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Ended before its time: nothing is recorded.")
