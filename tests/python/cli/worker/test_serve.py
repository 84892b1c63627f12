"""``bullrush worker`` in one process: what it runs, how signals end it, and its exit codes."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bullrush import Queue
from bullrush.cli import main
from tests.faults.proxy import Proxy
from tests.waiting import wait_until

from .conftest import Start
from .health import page


def test_a_burst_runs_all_jobs_of_the_queue_and_ends(start: Start, queue: Queue) -> None:
    queue.add_bulk([{"name": "n"}] * 5)
    command = start("jobs:handle", "-Q", f"{queue.name}=2", "--burst")
    assert command.ends() == 0, command.output
    assert queue.get_completed_count() == 5


def test_a_dict_of_handlers_runs_jobs_by_their_names(start: Start, queue: Queue) -> None:
    jobs = [queue.add(name, {"n": name}) for name in ("sync", "async")]
    lost = queue.add("lost", attempts=3)
    command = start("jobs:handlers", "-Q", f"{queue.name}=2", "--burst")
    assert command.ends() == 0, command.output
    assert [queue.get_job(job.id).returnvalue for job in jobs] == [{"n": "sync"}, None]
    assert "handlers for: async, sync" in (queue.get_job(lost.id).failed_reason or "")


def test_a_dict_of_handlers_needs_the_name_of_its_queue(start: Start) -> None:
    command = start("jobs:handlers", "--burst")
    assert command.ends() == 2, command.output
    assert "name its queue, such as -Q mail" in command.output


def test_one_handler_works_several_queues_each_with_its_concurrency(
    start: Start, queue: Queue, redis_url: str, folder: Path
) -> None:
    other = Queue(f"{queue.name}=other", url=redis_url)
    jobs = [{"name": "n", "data": {"until": "go on"}}] * 2
    queue.add_bulk(jobs)
    other.add_bulk(jobs)
    command = start("jobs:handle", "-Q", f"{queue.name}=2", "-Q", f"{other.name}=2", "--burst")
    command.prints("begun", 4)
    (folder / "go on").touch()
    assert command.ends() == 0, command.output
    assert (queue.get_completed_count(), other.get_completed_count()) == (2, 2)
    other.obliterate(force=True)


def test_queues_of_one_handler_share_its_slots_by_their_weights(
    start: Start, queue: Queue, redis_url: str, folder: Path
) -> None:
    other = Queue(f"{queue.name}~other", url=redis_url)
    for each in (queue, other):
        each.add_bulk([{"name": "n", "data": {"of": each.name}}] * 30)
    command = start("jobs:handle", "-Q", f"{queue.name}:4", "-Q", other.name, "-c", "1", "--burst", "--check")
    assert command.ends() == 0, command.output
    assert "concurrency 1" in command.output
    command = start("jobs:handle", "-Q", f"{queue.name}=20:4", "-Q", other.name, "-c", "1", "--burst")
    assert command.ends() == 0, command.output
    finished = [job for each in (queue, other) for job in each.get_completed(0, -1)]
    order = [job.queue_name for job in sorted(finished, key=lambda job: (job.processed_on, job.finished_on))]
    # The first 20 turns, give or take those that began in the same ms.
    assert abs(order[:20].count(queue.name) - 16) <= 1
    assert len(order) == 60


def test_a_registry_of_tasks_is_run(start: Start, queue: Queue) -> None:
    jobs = [queue.add(name, {"name": "Ada"}) for name in ("greet", "agreet")]
    command = start("jobs:tasks", "-c", "2", "--burst")
    assert command.ends() == 0, command.output
    assert [queue.get_job(job.id).returnvalue for job in jobs] == ["hello Ada"] * 2


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_worker_that_starts_before_redis_waits_for_it(
    start: Start, queue: Queue, redis_url: str, folder: Path, kind: str
) -> None:
    jobs = folder / "jobs.py"
    jobs.write_text(jobs.read_text().replace("async def agreet", f"{kind} agreet"))
    queue.add("greet", {"name": "Ada"})
    with Proxy(urlsplit(redis_url).port or 0) as proxy:
        proxy.refuse(True)
        waiting, closed = (start("jobs:tasks", BULLRUSH_URL=proxy.url) for _ in range(2))
        waiting.prints("cannot reach Redis")
        closed.prints("cannot reach Redis")
        closed.terminate()
        assert closed.ends() == 0, closed.output
        assert "works on queue" not in closed.output + waiting.output
        proxy.refuse(False)
        waiting.prints("begun Ada")
        waiting.prints("works on queue")
        waiting.terminate()
        assert waiting.ends() == 0, waiting.output


@pytest.mark.parametrize("target", ["jobs:handle", "jobs:awaited"])
def test_sigterm_lets_the_running_job_finish_and_loses_nothing(
    start: Start, queue: Queue, folder: Path, target: str
) -> None:
    queue.add_bulk([{"name": "n", "data": {"until": "go on"}}] * 2)
    command = start(target, "--health-port", "127.0.0.1:0", *([] if "awaited" in target else ["-Q", queue.name]))
    command.prints("begun")
    command.terminate()
    command.prints("closing after the running jobs")
    wait_until(lambda: not page(command, "/healthz")[1]["processes"][0][0]["running"])
    (folder / "go on").touch()
    assert command.ends() == 0, command.output
    assert queue.get_job_counts("wait", "active", "completed") == {"wait": 1, "active": 0, "completed": 1}


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_that_comes_while_the_command_is_stopped_closes_it_when_it_goes_on(
    start: Start, queue: Queue, processes: str, number: int
) -> None:
    queue.add_bulk([{"name": "n"}] * 20)
    command = start("jobs:blocking", "-p", processes)
    command.prints("works on queue", int(processes))
    wait_until(lambda: queue.get_completed_count() == 20)
    for sent in (signal.SIGSTOP, number, signal.SIGCONT):
        command.process.send_signal(sent)
    assert command.ends() == 0, command.output


@pytest.mark.parametrize("target", ["jobs:blocking", "jobs:awaited"])
def test_a_second_signal_ends_the_process_while_its_job_runs(start: Start, queue: Queue, target: str) -> None:
    queue.add("n", {"seconds": 30})
    command = start(target)
    command.prints("begun")
    command.terminate()
    command.prints("closing after the running jobs")
    command.interrupt()
    assert command.ends() == 4, command.output
    assert queue.get_waiting_count() == 1
    assert command.output.count("left 1 unfinished job") == 1, command.output


@pytest.mark.parametrize("target", ["jobs:blocking", "jobs:awaited"])
def test_jobs_that_run_longer_than_the_shutdown_timeout_are_left_and_named(
    start: Start, queue: Queue, target: str
) -> None:
    job = queue.add("n", {"seconds": 30})
    command = start(target, "--shutdown-timeout", "0.2", "--log-json")
    command.prints("begun")
    command.terminate()
    assert command.ends() == 4, command.output
    (line,) = (json.loads(line) for line in command.lines if "unfinished" in line)
    assert (line["level"], line["queue"], line["job_ids"]) == ("WARNING", queue.name, [job.id])


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["jobs"], "write module:object"),
        (["nowhere:thing"], "there is no module 'nowhere'"),
        (["jobs:nothing"], "no 'nothing'; it has jobs:blocking, jobs:awaited, jobs:several, jobs:tasks\n"),
        (["jobs:number"], "jobs:number is a int"),
        (["jobs:nobody", "-Q", "any"], "jobs:nobody is an empty dict"),
        (["jobs:handle"], "name its queue, such as -Q mail"),
        (["jobs:blocking", "--url", "redis://elsewhere"], "--url cannot change it"),
        (["jobs:blocking", "-Q", "another"], "no target has the queue 'another'"),
        (["jobs:handle", "-Q", "one:4"], "a weight is for queues that share a worker, and one has its own"),
        (["jobs:handle", "-Q", "one=2:none"], "argument -Q/--queue: 'none'"),
        (["jobs:blocking", "-c", "0"], "no whole number greater than 0"),
        (["broken:handle", "-Q", "any"], "ZeroDivisionError"),
        (["ended:handle", "-Q", "any", "--check"], "SystemExit: 0"),
        (["./jobs:handle", "-Q", "any"], "such as app.jobs for app/jobs.py"),
    ],
)
def test_what_cannot_run_is_refused_with_code_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], printed: str
) -> None:
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "ended.py").write_text("raise SystemExit(0)\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "jobs", raising=False)
    with pytest.raises(SystemExit, match="2"):
        sys.exit(main(["worker", *words]))
    assert printed in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "jobs", raising=False)
