"""``-p N``, ``--reload`` and ``--check``: several processes, and none."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from redis import Redis

from bullrush import Queue
from tests.waiting import wait_until

from .conftest import Command, Start


def children(command: Command) -> list[psutil.Process]:
    return psutil.Process(command.process.pid).children()


def test_a_killed_process_is_replaced_and_its_jobs_run_again(start: Start, queue: Queue) -> None:
    job = queue.add("n", {"seconds": 0.5})
    command = start("jobs:blocking", "-p", "2")
    command.prints(f"begun {job.id}")
    before = children(command)
    assert len(before) == 2
    for child in before:
        child.send_signal(signal.SIGKILL)
    wait_until(lambda: len(children(command)) == 2 and not set(children(command)) & set(before), "both are replaced")
    wait_until(lambda: queue.get_job(job.id).get_state() == "completed", "the job has run again")
    assert command.output.count("was killed by SIGKILL") == 2
    command.terminate()
    assert command.ends() == 0, command.output


@pytest.mark.parametrize("processes", [1, 2])
def test_a_process_is_replaced_after_so_many_jobs(start: Start, queue: Queue, processes: int) -> None:
    queue.add_bulk([{"name": "n", "data": {"seconds": 0.01}}] * 12)
    command = start("jobs:blocking", "-p", str(processes), "--max-jobs", "4")
    wait_until(lambda: queue.get_completed_count() == 12, "all jobs have run")
    command.prints("has run its jobs", 2)
    wait_until(lambda: len(children(command)) == processes, "the last one is replaced, too")
    assert all(queue.get_job(job.id).attempts_started == 1 for job in queue.get_completed())
    assert "ERROR" not in command.output
    command.terminate()
    assert command.ends() == 0, command.output


def test_a_process_that_is_replaced_ends_the_jobs_of_its_other_workers(start: Start, queue: Queue) -> None:
    queue.add_bulk([{"name": "n", "data": {"seconds": 1}}, *[{"name": "n", "data": {"seconds": 0.01}}] * 3])
    command = start("jobs:blocking", "-c", "2", "--max-jobs", "3")
    wait_until(lambda: queue.get_completed_count() == 4, "all jobs have run")
    assert all(queue.get_job(job.id).attempts_started == 1 for job in queue.get_completed())
    command.terminate()
    assert command.ends() == 0, command.output


def test_a_supervisor_of_one_process_says_so(start: Start, queue: Queue) -> None:
    pytest.importorskip("watchfiles")
    queue.add("n", {"seconds": 30})
    command = start("jobs:blocking", "-p", "1", "--reload")
    command.prints("begun")
    command.terminate()
    command.prints("closing 1 process after its running jobs")


def test_the_first_signal_waits_for_all_processes_and_a_second_one_does_not(start: Start, queue: Queue) -> None:
    queue.add_bulk([{"name": "n", "data": {"seconds": 30}}] * 2)
    command = start("jobs:blocking", "-p", "2")
    command.prints("begun", 2)
    command.terminate()
    command.prints("closing 2 processes")
    command.interrupt()
    assert command.ends() == 4, command.output
    assert queue.get_waiting_count() == 2


def test_processes_whose_supervisor_was_killed_end_by_themselves(start: Start, queue: Queue) -> None:
    queue.add_bulk([{"name": "n"}] * 2)
    command = start("jobs:blocking", "-p", "2")
    command.prints("begun", 2)
    left = children(command)
    os.kill(command.process.pid, signal.SIGKILL)
    assert psutil.wait_procs(left, timeout=10)[1] == []


def test_a_burst_of_two_processes_ends_when_the_queue_is_empty(start: Start, queue: Queue) -> None:
    queue.add_bulk([{"name": "n"}] * 5)
    command = start("jobs:blocking", "-p", "2", "--burst")
    assert command.ends() == 0, command.output
    assert queue.get_completed_count() == 5


def test_a_target_that_cannot_be_imported_ends_all_processes(start: Start) -> None:
    command = start("nowhere:thing", "-p", "2")
    assert command.ends() == 2
    assert "there is no module 'nowhere'" in command.output


def test_a_changed_file_restarts_the_process(start: Start, queue: Queue, folder: Path) -> None:
    pytest.importorskip("watchfiles")
    jobs = folder / "jobs.py"
    (folder / "late.py").write_text(jobs.read_text())
    command = start("late:blocking", "--reload")
    queue.add("n")
    command.prints("begun")
    (folder / "late.py").write_text(jobs.read_text() + "\n1 / 0\n")
    command.prints("ZeroDivisionError")
    command.prints("started again when a file changes")
    (folder / "late.py").write_text(jobs.read_text().replace("begun", "begun anew"))
    job = queue.add("n")
    command.prints(f"begun anew {job.id}")
    command.terminate()
    assert command.ends() == 0, command.output


def test_check_says_what_would_run_and_takes_no_job(start: Start, queue: Queue) -> None:
    queue.add("n")
    command = start("jobs:blocking", "jobs:awaited", "--check", "-c", "3")
    assert command.ends() == 0, command.output
    assert command.output.count("ready, concurrency 3, Redis ") == 2
    assert queue.get_waiting_count() == 1


@pytest.fixture
def check_without(start: Start, queue: Queue, redis: Redis, redis_url: str) -> Iterator[Callable[..., str]]:
    """`check_without("zadd")`: what `--check` says to a user who may not run these commands."""
    user, where = f"user-{queue.name}", urlsplit(redis_url)

    def check(*denied: str) -> str:
        rules = [f"-{command}" for command in denied]
        redis.execute_command("ACL", "SETUSER", user, "on", ">hidden", "~*", "+@all", *rules)
        command = start("jobs:blocking", "--check", BULLRUSH_URL=f"redis://{user}:hidden@{where.netloc}{where.path}")
        assert command.ends() == 1, command.output
        return command.output

    yield check
    redis.execute_command("ACL", "DELUSER", user)


def test_check_names_the_rights_that_are_missing(check_without: Callable[..., str], queue: Queue) -> None:
    reported = check_without("hset", "zadd")
    assert f"user 'user-{queue.name}' lacks rights that a worker needs: +hset +zadd. " in reported
    assert "hidden" not in reported


def test_check_says_that_more_may_be_missing_if_it_could_not_look(
    check_without: Callable[..., str], redis: Redis
) -> None:
    can_tell = int(redis.info("server")["redis_version"].split(".")[0]) >= 7
    denied = "evalsha" if can_tell else "del"
    reported = check_without("zadd", denied)
    assert f'at least +{denied}, without which others cannot be tried. "bullrush acl worker" prints' in reported
    assert "ACL SETUSER" not in reported


def test_check_without_redis_has_a_code_of_its_own(start: Start) -> None:
    command = start("jobs:blocking", "--check", BULLRUSH_URL="redis://:hidden@127.0.0.1:1")
    assert command.ends() == 3, command.output
    assert "127.0.0.1:1" in command.output
    assert "hidden" not in command.output
