"""``--health-port``: /healthz, /readyz and /metrics of one process and of several."""

from __future__ import annotations

import re
import signal
from argparse import Namespace
from unittest import mock

import psutil
import pytest

from bullrush import Queue
from bullrush.cli.worker.http import _page
from bullrush.cli.worker.processes.supervisor import Supervisor
from tests.waiting import wait_until

from .conftest import Start
from .health import get, page

OPTIONS = ("burst", "concurrency", "health_port", "log_json", "max_jobs", "prefix", "reload", "shutdown_timeout")


def value(text: str, sample: str) -> float:
    return float(re.findall(rf"^{sample}\{{.*\}} (\S+)$", text, re.MULTILINE)[0])


@pytest.mark.parametrize("target", ["jobs:blocking", "jobs:awaited"])
def test_one_process_tells_its_health_and_its_metrics(start: Start, queue: Queue, target: str) -> None:
    queue.add_bulk([{"name": "n", "data": {"seconds": 0.02}}] * 3)
    command = start(target, "--health-port", "127.0.0.1:0")
    wait_until(lambda: queue.get_completed_count() == 3)
    code, found = page(command, "/readyz")
    worker = found["processes"][0][0]
    assert (code, found["ok"], worker["queue"], worker["problems"]) == (200, True, queue.name, [])
    assert worker["connected"] and worker["running"] and worker["in_hand"] == 0
    assert worker["last_claim_age"] >= 0 and (worker["loop_lag"] is None) == (target == "jobs:blocking")
    code, text = get(command, "/metrics")
    assert value(text, "bullmq_job_duration_seconds_count") == 3
    assert 0.06 <= value(text, "bullmq_job_duration_seconds_sum") < 30
    assert value(text, "bullmq_job_wait_seconds_count") == 3
    assert value(text, "bullmq_oldest_due_job_age_seconds") == 0
    assert f'bullmq_job_count{{queue="{queue.name}", state="completed"}} 3' in text
    assert re.findall(r'^bullmq_worker_problem\{.*problem="stuck"\} (\d)$', text, re.MULTILINE) == ["0"]
    assert get(command, "/nothing")[0] == 404
    assert get(command, "/healthz", "HEAD") == (200, "")


def test_the_supervisor_answers_for_all_processes_and_keeps_the_counts_of_dead_ones(
    start: Start, queue: Queue, redis
) -> None:
    command = start("jobs:blocking", "-p", "2", "--health-port", "127.0.0.1:0")
    wait_until(lambda: page(command, "/readyz")[0] == 200, "both are ready")
    assert len(page(command, "/healthz")[1]["processes"]) == 2
    queue.add_bulk([{"name": "n"}] * 10)
    wait_until(lambda: value(get(command, "/metrics")[1], "bullmq_worker_completed_total") == 10)
    for child in psutil.Process(command.process.pid).children():
        child.send_signal(signal.SIGKILL)
    command.prints("was killed by SIGKILL", 2)
    wait_until(lambda: page(command, "/readyz")[0] == 200, "both are ready again")
    text = get(command, "/metrics")[1]
    assert value(text, "bullmq_worker_completed_total") == 10
    assert value(text, "bullmq_worker_concurrency") == 2
    assert len(re.findall("# TYPE bullmq_job_duration_seconds histogram", text)) == 1
    assert len(re.findall("# TYPE bullmq_job_count gauge", text)) == 1
    redis.set(queue.to_key("wait"), "no list")
    assert page(command, "/readyz")[0] == 503
    assert get(command, "/metrics")[0] == 200
    command.terminate()
    assert command.ends() == 0, "both still listen"


def test_a_taken_port_is_refused(start: Start) -> None:
    first = start("jobs:blocking", "--health-port", "127.0.0.1:0")
    first.prints("Health and metrics: ")
    port = re.findall(r"http://[\d.]+:(\d+)", first.output)[0]
    second = start("jobs:blocking", "--health-port", f"127.0.0.1:{port}")
    assert second.ends() == 1
    assert f"--health-port 127.0.0.1:{port} cannot be used" in second.output


def test_a_process_that_has_answered_and_is_silent_now_is_not_healthy() -> None:
    given = {"processes": 2, "targets": ["jobs:tasks"], "queues": [], "log_level": "INFO", "name": "pod"}
    supervisor = Supervisor(Namespace(**dict.fromkeys(OPTIONS), **given))
    starting, working = supervisor.children
    starting.line, working.line = mock.Mock(ask=lambda _: None), mock.Mock(ask=lambda _: [{"problems": []}])
    assert _page("/healthz", supervisor)[0] == 200, "it is no reason to kill a process that it takes long to start"
    assert _page("/readyz", supervisor)[0] == 503
    working.line, working.process = starting.line, mock.Mock(pid=4711)
    code, found = _page("/healthz", supervisor)
    assert code == 503
    silent = {"name": "pod-2", "process": 2, "pid": 4711, "problems": ["silent"], "healthy": False}
    assert found["processes"] == [None, [silent]]
