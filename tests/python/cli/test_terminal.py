"""Every command in a real terminal: tables, questions, bars, keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pexpect import TIMEOUT

from bullrush import FlowProducer, Queue, Worker
from tests.waiting import wait_until

#: What is typed and what must be seen, by the words of the command. QUEUE is the queue of the test, FILE a file of it.
SEEN = {
    "info QUEUE": ["delayed", "QUEUE"],
    "counts QUEUE": ["delayed", "failed"],
    "health QUEUE": ["healthy", "oldest due"],
    "routes QUEUE": ["No job of 'QUEUE' had a target yet."],
    "workers QUEUE": ["No worker of 'QUEUE' is connected."],
    "schedulers QUEUE": ["nightly", "0 3 * * *"],
    "jobs list QUEUE": ["welcome", "completed", "no such user"],
    "jobs show QUEUE 2": ["failed because:", "no such user", "stack trace"],
    "why QUEUE 3": ["QUEUE 3 (waiting): It waits: no worker is connected."],
    "failures QUEUE": ["ValueError: no such user", "what failed"],
    "record --file FILE --queue QUEUE --for 1s": [
        "until Ctrl-C or SIGTERM",
        " events/s",
        "0 gaps, 0.",
        "recorded since",
    ],
    "history QUEUE --file FILE": ["Remembers since", "welcome", "completed", "no such user"],
    "limits QUEUE": ["concurrency", "no limit"],
    "jobs update QUEUE 2 7": ["The data of job 2 was replaced."],
    "jobs retry QUEUE 2": ["1 job retried."],
    "jobs promote QUEUE 4": ["1 job promoted."],
    "jobs cancel QUEUE 3": ["no worker runs it"],
    "jobs remove QUEUE 3": ["1 job removed."],
    "add QUEUE welcome": ["6"],
    "logs QUEUE 1": ["first", "second"],
    "flow QUEUE 1": ["welcome  QUEUE:1  completed"],
    "events QUEUE --since 1h -n 1": ["added", '{"name":"welcome"}'],
    "pause QUEUE": ["QUEUE is paused."],
    "resume QUEUE": ["QUEUE is running."],
    "drain QUEUE --yes": ["removed from"],
    "clean QUEUE --yes": ["1 job removed"],
    "scripts manage/pause": ["redis-cli --eval pause.lua bull:mail:meta"],
    "doctor --queue QUEUE": [" at 127.0.0.1:", "1 queue."],
    "acl producer": ["+evalsha"],
    "completion zsh": ["#compdef bullrush"],
}

#: Those that run until a signal ends them; each has a test of its own.
FOLLOWED = ["worker shop:handle", "dashboard"]


def test_every_command_works_in_a_terminal(shell: Callable, worked: Queue, tmp_path: Path) -> None:
    """All in one terminal and one process, since a test of each would cost a start of Python."""
    worked.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *"})
    for words, wanted in SEEN.items():
        code, screen = shell(words.replace("QUEUE", worked.name).replace("FILE", str(tmp_path / "history.db")))
        assert code == ("cancel" in words), (words, screen)
        assert [text for text in wanted if text.replace("QUEUE", worked.name) not in screen] == [], (words, screen)


def test_events_are_followed_until_ctrl_c(terminal: Callable, queue: Queue) -> None:
    queue.add("x")
    following = terminal("events", queue.name)

    def sees_a_new_job() -> bool:
        job = queue.add("x")
        return bool(following.expect_exact([TIMEOUT, f"waiting            {job.id}"], timeout=0.2))

    wait_until(sees_a_new_job)
    following.sendintr()
    assert following.ended()[0] == 130


def test_connected_workers_are_shown(shell: Callable, queue: Queue, redis_url: str) -> None:
    queue.add("x")
    with Worker(queue.name, lambda job: None, url=redis_url, name="mailer", autorun=True) as worker:
        worker.wait_until_ready()
        code, screen = wait_until(lambda: found if "mailer" in (found := shell(f"workers {queue.name}"))[1] else None)
    assert code == 0 and "connected for" in screen


def test_a_worker_runs_in_a_terminal_until_ctrl_c(
    terminal: Callable, queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.py").write_text("def handle(job):\n    print('handled', job.id)\n")
    monkeypatch.chdir(tmp_path)
    queue.add("x")
    code, screen = terminal("worker", "shop:handle", "-Q", queue.name, "--check").ended()
    assert code == 0 and "ready, concurrency 1" in screen
    working = terminal("worker", "shop:handle", "-Q", queue.name)
    working.sees("handled 1")
    working.sendintr()
    code, screen = working.ended()
    assert code == 0 and "1 completed, 0 failed" in screen


def test_the_dashboard_runs_in_a_terminal_until_ctrl_c(terminal: Callable, tmp_path: Path) -> None:
    serving = terminal("dashboard", "--history", str(tmp_path / "history.db"))
    serving.sees("http://127.0.0.1:")
    serving.sees("Ctrl-C ends the dashboard.")
    serving.sees("this dashboard records into it.")
    serving.sendintr()
    assert serving.ended()[0] == 130


def test_ctrl_c_at_a_question_changes_nothing(terminal: Callable, worked: Queue) -> None:
    asked = terminal("jobs", "remove", worked.name, "--all")
    asked.sees(f"Remove 4 jobs of {worked.name}? [y/N] ")
    asked.sendintr()
    code, screen = asked.ended()
    assert code == 130 and "Traceback" not in screen
    assert worked.get_job_count_by_types() == 4


def test_many_jobs_are_changed_under_a_bar(terminal: Callable, queue: Queue) -> None:
    queue.add_bulk([{"name": "x", "opts": {"delay": 3_600_000}} for _ in range(300)])
    promoting = terminal("jobs", "promote", queue.name, "--all")
    promoting.sees("Promote 300 delayed jobs of")
    promoting.sendline("yes")
    code, screen = promoting.ended()
    assert code == 0 and "100%" in screen and "300 jobs promoted." in screen
    assert queue.get_job_counts("waiting", "delayed") == {"waiting": 300, "delayed": 0, "paused": 0}


def test_what_changes_while_the_question_is_open_is_left_alone_and_counted(
    terminal: Callable, queue: Queue, redis_url: str
) -> None:
    def fail(job: Any) -> None:
        raise ValueError("no such user")

    def work() -> None:
        with Worker(queue.name, fail, url=redis_url) as worker:
            worker.run(until="empty")

    queue.add_bulk([{"name": "x"}] * 5)
    work()
    first, second, third, *_ = queue.get_failed()
    retrying = terminal("jobs", "retry", queue.name, "--all")
    retrying.sees("Retry 5 failed jobs of")
    first.retry()
    work()  # it fails again, later than it was seen to
    second.remove()
    third.retry()
    retrying.sendline("yes")
    code, screen = retrying.ended()
    assert code == 1 and screen.endswith("2 jobs retried. 3 had changed meanwhile and were left alone.\n")
    assert first.get_state() == "failed" and queue.get_waiting_count() == 3


def test_info_is_watched_until_ctrl_c(terminal: Callable, queue: Queue) -> None:
    queue.add("x")
    watching = terminal("info", queue.name, "--watch", "20ms")
    watching.sees(f"{queue.name}")
    queue.add("y")
    wait_until(lambda: "2" in watching.sees("No jobs per minute").partition(queue.name)[2].split()[:1])
    watching.sendintr()
    assert watching.ended()[0] == 130


def test_a_log_is_followed_in_a_terminal(terminal: Callable, queue: Queue, redis_url: str) -> None:
    queue.add("x")
    queue.add_job_log("1", "first row")
    following = terminal("logs", queue.name, "1", "-f")
    following.sees("first row")
    queue.add_job_log("1", "second row")
    following.sees("second row")
    queue.remove("1")
    assert following.ended()[0] == 0


def test_a_flow_is_drawn_as_a_tree(terminal: Callable, queue: Queue, redis_url: str) -> None:
    child = {"name": "part", "queue_name": queue.name}
    with FlowProducer(url=redis_url) as flows:
        root = flows.add({"name": "whole", "queue_name": queue.name, "children": [child]})
    assert f"└── part  {queue.name}:" in terminal("flow", queue.name, root.job.id).ended()[1]


def test_without_rich_tables_and_bars_are_plain_text(queue: Queue, terminal: Callable) -> None:
    queue.add_bulk([{"name": "x", "opts": {"delay": 3_600_000}} for _ in range(200)])
    program = ("-c", "import sys; sys.modules['rich'] = None; from bullrush.cli import main; sys.exit(main())")
    code, screen = terminal("jobs", "promote", queue.name, "--all", "--yes", program=program).ended()
    assert code == 0 and "promoted 100/200" in screen and screen.endswith("promoted 200/200\n200 jobs promoted.\n")
    table = terminal("counts", queue.name, "waiting", program=program).ended()
    assert table == (0, "state    jobs\nwaiting   200\npaused      0\n")
