"""``bullrush worker --profile``: a machine says what it has on the command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from bullrush import Queue, Worker
from bullrush.cli import main
from bullrush.cli.worker.monitor import Monitor
from tests.waiting import wait_until

from .conftest import Start

GPU = '{"capabilities": ["gpu"], "server": "exec-17"}'


def test_a_profile_takes_jobs_of_its_routes_and_with_routes_only_no_others(start: Start, queue: Queue) -> None:
    plain, routed = queue.add("n"), queue.add("n", target={"capabilities": ["gpu"]})
    command = start("jobs:handle", "-Q", queue.name, "--profile", GPU, "--routes-only", "--burst")
    assert command.ends() == 0, command.output
    assert (plain.is_waiting(), routed.is_completed()) == (True, True)
    assert 'concurrency 1, profile {"capabilities":["gpu"],"server":"exec-17"}, bullrush' in command.output
    command = start("jobs:handle", "-Q", queue.name, "--profile", GPU, "--burst")
    assert command.ends() == 0, command.output
    assert plain.is_completed()


def test_each_process_of_a_supervisor_has_the_profile_of_the_file(start: Start, queue: Queue, folder: Path) -> None:
    (folder / "machine.json").write_text(GPU)
    routed = queue.add("greet", {"name": "Ada"}, target={"server": "exec-17"})
    command = start("jobs:tasks", "--profile", "machine.json", "-p", "2")
    wait_until(routed.is_completed)
    command.terminate()
    assert command.ends() == 0, command.output


def test_check_shows_the_profile(start: Start) -> None:
    command = start("jobs:tasks", "--profile", GPU, "--check")
    assert command.ends() == 0, command.output
    assert 'ready, concurrency 1, profile {"capabilities":["gpu"],"server":"exec-17"}, Redis' in command.output


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["jobs:tasks", "--profile", '{"gpu": true}'], "profile has no option 'gpu'"),
        (["jobs:tasks", "--profile", '{"capabilities": "gpu"}'], "profile.capabilities must be a list: ['gpu']"),
        (["jobs:tasks", "--profile", '{"capabilities": ["*"]}'], "only the capabilities of a target may end with *"),
        (["jobs:tasks", "--profile", "{gpu}"], "is no JSON"),
        (["jobs:tasks", "--profile", "nowhere.json"], "no file that can be read (No such file or directory)"),
        (["jobs:tasks", "--routes-only"], "--routes-only needs --profile"),
        (["jobs:blocking", "--profile", GPU], "give it the profile, Worker(..., profile=...)"),
        (["jobs:handle", "-Q", "a", "-Q", "b", "--profile", GPU], "start the command once for each -Q"),
        (["jobs:handle", "-Q", "a", "-Q", "a=2"], "-Q a -Q a=2: the queue 'a' stands twice"),
        (["jobs:handle", "-Q", "video=3,mail=1"], "write -Q for each, -Q video=3 -Q mail=1"),
        (["jobs:handle", "-Q", "video=3:2,mail"], "write -Q for each, -Q video=3:2 -Q mail"),
    ],
)
def test_wrong_words_about_queues_and_profiles_are_refused(
    monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: Any, words: list[str], printed: str
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "jobs", raising=False)
    try:
        code = main(["worker", *words])
    except SystemExit as end:
        code = int(end.code or 0)
    assert code == 2
    assert printed in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "jobs", raising=False)


def test_the_metrics_of_a_worker_with_a_profile_have_its_routes(queue: Queue, redis_url: str) -> None:
    queue.add("a", target={"capabilities": ["gpu"]})
    with (
        Worker(queue.name, lambda job: None, url=redis_url, profile={"server": "a"}) as routed,
        Worker(queue.name, lambda job: None, url=redis_url) as plain,
    ):
        line = f'bullmq_job_count{{queue="{queue.name}~cap.gpu", state="waiting"}} 1'
        assert line in Monitor([routed]).queues()
        assert line not in Monitor([plain]).queues()
