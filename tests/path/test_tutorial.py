"""The tutorial, typed into terminals as it is written, in a fresh environment from the built wheel; then a deployment.

Files and commands come out of the page. Only the wheel and the ports are replaced.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from redis import Redis

from bullrush import Queue
from bullrush.embedded import resolve
from tests.path.page import Page
from tests.path.terminal import Terminal
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.path, pytest.mark.timeout(600)]

#: Up to two checks for stalled jobs, of 30 s each, and the job itself.
LONG = 90


@pytest.fixture
def page() -> Page:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        ports = {"8000": one.getsockname()[1], "8001": two.getsockname()[1]}
    return Page(ROOT / "docs/tutorial.md", ports)


@pytest.fixture
def open_terminal(tmp_path: Path) -> Iterator[Callable[[], Terminal]]:
    opened: list[Terminal] = []

    def start() -> Terminal:
        opened.append(Terminal(tmp_path))
        return opened[-1]

    yield start
    for terminal in opened:
        if terminal.isalive():
            for process in psutil.Process(terminal.pid).children(recursive=True):
                process.kill()
        terminal.close(force=True)


@pytest.fixture
def shop(page: Page, open_terminal: Callable[[], Terminal], tmp_path: Path) -> Path:
    """Follow the beginning of the page and return the folder."""
    (wheel,) = (ROOT / "target/dist").glob("bullrush-*.whl")
    terminal = open_terminal()
    terminal.run(page.command("mkdir shop && cd shop"))
    terminal.run(page.command("python3 -m venv").replace("python3", sys.executable))
    terminal.run(page.command(". .venv/bin/activate"))
    install = page.command("pip install")
    assert install.count("bullrush[") == 1
    terminal.run(install.replace("bullrush[", f"{wheel}[").replace("pip install", "pip install -q"))
    terminal.run(page.command("export BULLRUSH_URL"))
    assert "bullrush/__init__.py" in terminal.run("cd / && python -c 'import bullrush; print(bullrush.__file__)'; cd -")
    terminal.close(force=True)
    return tmp_path / "shop"


@pytest.fixture
def queue(shop: Path) -> Iterator[Queue]:
    with Queue("mail", url=f"embedded://{shop}/redis-data") as queue:
        yield queue


def test_the_tutorial_works_as_it_is_written(
    page: Page, shop: Path, queue: Queue, open_terminal: Callable[[], Terminal]
) -> None:
    each = [page.command(line) for line in ("cd shop", ". .venv", "export BULLRUSH_URL")]
    terminals = first, second, third = open_terminal(), open_terminal(), open_terminal()
    for terminal in terminals:
        for line in each:
            terminal.run(line)

    page.write("shop.py", shop)
    first.start(page.command("bullrush worker shop:tasks -c 10 --reload"))
    first.sees("works on queue 'mail'")
    assert second.run(page.command("bullrush add mail receipt")).splitlines()[-1] == "1"
    state_is(queue, "1", "completed")
    assert "receipt of order 7 sent to ann@example.com" in second.run(page.command("bullrush jobs show mail 1"))

    page.write("web.py", shop)
    third.start(page.command("uvicorn web:app"))
    third.sees("Application startup complete")
    buy = page.command("curl -s -X POST")
    web = re.findall(r"http://127.0.0.1:\d+", buy)[0]
    assert '{"job":"2"}' in second.run(buy)
    state_is(queue, "2", "completed")
    assert '"result":"receipt of order 8 sent to bob@example.com"' in second.run(f"curl -s {web}/jobs/2")

    fail_and_mend(page, shop, queue, first, second)
    schedule(page, shop, queue, first, second)

    page.write("test_shop.py", shop)
    second.run(page.command("pip install httpx2").replace("install", "install -q"))
    assert "3 passed" in second.run(page.command("pytest -q"))

    page.write("shop.py, at its end", shop)
    first.sees("has changed")
    first.sees("works on queue 'mail'")
    first.sendintr()
    first.ends(0)
    service = page.command("bullrush worker shop:tasks -c 10 -p 2")
    deploy(page, queue, service, first, second, web)
    end_at_once(queue, service, first, second)
    assert page.left == []


def state_is(queue: Queue, job_id: str, state: str, seconds: float = 30) -> None:
    wait_until(lambda: queue.get_job_state(job_id) == state, f"job {job_id} is {state}", seconds)


def fail_and_mend(page: Page, shop: Path, queue: Queue, worker: Terminal, other: Terminal) -> None:
    assert '{"job":"3"}' in other.run(page.command("curl -s -X POST"))
    worker.sees("Job 3 'receipt' of queue 'mail': attempt 1 failed")
    worker.sees("runs again at")
    worker.sees("attempt 3 failed for good")
    worker.sees("ConnectionError: no server for eve@example.invalid")
    listed = other.run(page.command("bullrush jobs list mail --state failed"))
    assert "no server for eve@example.invalid" in listed and "receipt" in listed
    assert "stack trace" in other.run(page.command("bullrush jobs show mail 3"))
    page.write("shop.py", shop)
    worker.sees("shop.py has changed")
    worker.sees("works on queue 'mail'")
    other.start(page.command("bullrush jobs retry mail --all"))
    other.sees("Retry 1 failed job of mail? [y/N] ")
    other.sendline("y")
    assert "1 job retried." in other.ends(0)
    state_is(queue, "3", "completed")
    job = queue.get_job("3")
    assert job is not None and job.returnvalue.startswith("receipt of order 9 cannot be sent")


def schedule(page: Page, shop: Path, queue: Queue, worker: Terminal, other: Terminal) -> None:
    page.write("later.py", shop)
    other.run(page.command("python later.py"))
    assert queue.get_delayed_count() == 1
    state_is(queue, "4", "completed")
    page.write("shop.py, at its end", shop)
    worker.sees("works on queue 'mail'")
    worker.sees("the report")
    assert "*/5 * * * * *" in other.run(page.command("bullrush schedulers mail"))


def deploy(page: Page, queue: Queue, service: str, worker: Terminal, other: Terminal, web: str) -> None:
    """SIGTERM in mid-job: running jobs finish, the next worker does the rest, each exactly once."""
    worker.start(service)
    worker.sees("works on queue 'mail'")
    worker.sees("works on queue 'mail'")
    (running,) = other.run(page.command("bullrush add mail catalogue")).splitlines()[-1:]
    worker.sees("page 1")
    assert json.loads(other.run(page.command("curl -s")))["ok"] is True
    # More than two processes of ten threads can run at once.
    buy = f"for order in $(seq 40); do curl -s -X POST {web}/orders/$order?to=ann@example.com; done"
    bought = re.findall(r'"job":"(\d+)"', other.run(buy))
    assert len(bought) == 40
    more = [queue.add("receipt", {"order": n, "to": "bob@example.com"}).id for n in range(60)]
    terminate(worker)
    worker.sees("closing 2 processes after their running jobs")
    worker.ends(0)
    assert queue.get_active_count() == 0
    assert queue.get_waiting_count() > 0, "the deployment came too late to show anything"
    assert queue.get_job_state(running) == "completed"
    worker.start(service)
    jobs = [running, *bought, *more]
    wait_until(lambda: all(queue.get_job_state(job) == "completed" for job in jobs), "all jobs are completed")
    assert set(completions(queue, jobs).values()) == {1}
    assert {queue.get_job(job).attempts_started for job in jobs} == {1}  # type: ignore[union-attr]


def end_at_once(queue: Queue, service: str, worker: Terminal, other: Terminal) -> None:
    """Ctrl-C after a signal in mid-job ends the worker within a second; the next worker runs the job again."""
    job = queue.add("catalogue", {"pages": 5}).id
    worker.sees("page 1")
    terminate(worker)
    worker.sees("closing 2 processes after their running jobs")
    began = time.monotonic()
    worker.sendintr()
    worker.ends(4)
    assert time.monotonic() - began < 1
    assert queue.get_job_state(job) == "waiting"
    worker.start(service)
    state_is(queue, job, "completed", LONG)
    assert completions(queue, [job]) == {job: 1}
    again = queue.get_job(job)
    assert again is not None and (again.returnvalue, again.stalled_counter) == ("5 pages", 0)
    worker.sendintr()
    worker.ends(0)


def terminate(worker: Terminal) -> None:
    """Send SIGTERM to the command, as a service manager does."""
    psutil.Process(worker.pid).children()[0].send_signal(signal.SIGTERM)


def completions(queue: Queue, jobs: list[str]) -> Counter[str]:
    """Return how often each of these jobs has completed, by the events of the queue."""
    with Redis.from_url(resolve(queue.opts["url"]), decode_responses=True) as redis:
        events = [event for _, event in redis.xrange(queue.to_key("events"))]
    return Counter(event["jobId"] for event in events if event["event"] == "completed" and event["jobId"] in jobs)
