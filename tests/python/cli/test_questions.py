"""What may lose jobs asks first, in a real terminal; and no command is without a test in a terminal."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bullrush import Job, LegacyQueue, Queue, Tasks, Worker
from bullrush.cli import COMMANDS
from bullrush.cli.registry import build_parser
from tests.waiting import wait_until

from .test_terminal import FOLLOWED, SEEN

#: What is asked, by the words of a command; QUEUE is the queue of the test.
ASKED = {
    "jobs retry QUEUE --all": "Retry 1 failed job of QUEUE?",
    "jobs promote QUEUE --all": "Promote 2 delayed jobs of QUEUE?",
    "jobs cancel QUEUE --all": "Cancel 1 active job of QUEUE?",
    "jobs remove QUEUE --state completed": "Remove 1 completed job of QUEUE?",
    "schedulers QUEUE --prune shop:tasks": "Remove these job schedulers of QUEUE: dropped?",
    "drain QUEUE": "Remove what waits in QUEUE: 1 job?",
    "clean QUEUE --state failed": "Remove failed jobs of QUEUE (there are 1, of any age)?",
    "migrate QUEUE-old --to-prefix moved --cleanup": "Delete the keys of bull:QUEUE-old, with 1 completed job?",
    "obliterate QUEUE --force": "Remove the queue QUEUE with its 6 jobs, logs and schedulers?",
}

#: `test_doctor.py` asks it: here it would also repair what other tests leave on this machine.
ASKED_ELSEWHERE = {"doctor"}


def verbs() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Find all commands with their parsers: ``info``, ``jobs list``..."""
    for name, parser in commands_of(build_parser(*COMMANDS)).items():
        below = commands_of(parser)
        yield from {f"{name} {verb}": found for verb, found in below.items()}.items() if below else [(name, parser)]


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found[0]) if found else {}


def test_every_command_and_verb_is_run_in_a_terminal() -> None:
    run = [*SEEN, *ASKED, *FOLLOWED]
    forgotten = [
        verb for verb, _ in verbs() if not any(words.split()[: verb.count(" ") + 1] == verb.split() for words in run)
    ]
    assert forgotten == []


def test_every_command_that_has_yes_is_asked_in_a_terminal() -> None:
    asking = {verb for verb, parser in verbs() if "--yes" in parser._option_string_actions}
    assert {
        " ".join(words.split()[: 2 if words.startswith("jobs") else 1]) for words in ASKED
    } == asking - ASKED_ELSEWHERE


@pytest.fixture
def working(
    request: pytest.FixtureRequest, queue: Queue, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Worker]:
    """Let a worker hold a job in a queue that has one in every other state, and a scheduler whose code has gone.

    Beside it is a queue of Bull with a job that has ended.
    """
    old = LegacyQueue(f"{queue.name}-old", url=redis_url, flavor="4")
    ended, redis = old.add("welcome").id, request.getfixturevalue("redis")
    redis.delete(old.to_key("wait"))
    redis.zadd(old.to_key("completed"), {ended: 1_700_000_000_000})
    gone = Tasks(queue.name, url=redis_url)
    gone.cron("0 3 * * *", tz="UTC", name="dropped")(lambda: None)
    with Worker(gone, url=redis_url) as worker:
        worker.run(until="empty")
    (tmp_path / "shop.py").write_text(f"from bullrush import Tasks\ntasks = Tasks({queue.name!r})\n")
    monkeypatch.chdir(tmp_path)
    request.getfixturevalue("worked")

    def hold(job: Job[Any, Any]) -> None:
        wait_until(lambda: job.cancelled)
        job.check_cancelled()

    with Worker(queue.name, hold, url=redis_url, autorun=True) as worker:
        wait_until(lambda: queue.get_active_count() == 1)
        queue.add("x")
        yield worker
        worker.close(force=True)


def test_no_changes_nothing_and_yes_does_it(working: Worker, shell: Callable, queue: Queue) -> None:
    """All in one terminal, since a test of each would cost a start of Python."""
    before = queue.get_job_counts(), queue.get_job_schedulers_count()
    for words, question in ASKED.items():
        code, screen = shell(words.replace("QUEUE", queue.name) + "\nn")
        assert f"{question.replace('QUEUE', queue.name)} [y/N] " in screen, (words, screen)
        assert code == 1 and "nothing was changed" in screen, (words, screen)
    assert (queue.get_job_counts(), queue.get_job_schedulers_count()) == before
    for words in ASKED:
        if words.startswith("obliterate"):
            working.close(force=True)
        code, screen = shell(words.replace("QUEUE", queue.name) + "\ny")
        assert code == 0 and re.search(r"\b(retried|promoted|stop|removed|Removed|gone|deleted)\b", screen), (
            words,
            screen,
        )
    assert queue.get_meta() == {}
