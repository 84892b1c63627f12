"""Errors of common mistakes say what to write instead."""

from __future__ import annotations

import datetime
import decimal
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from bullrush import FlowProducer, Job, Queue, Tasks, Worker, aio, cli
from bullrush.errors import ConnectionLostError, DataError, InvalidOptionError, QueueNameError, UnknownOptionError
from bullrush.job.fields import JobFields


class Model:
    """Like a model of pydantic."""

    def model_dump(self, mode: str = "python") -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        (Model(), "data.v: Model is not JSON serializable; use .model_dump(mode='json'), or a typed task"),
        (decimal.Decimal("1.1"), "data.v: Decimal is not JSON serializable; use str(...), or a typed task"),
        (b"secret", "data.v: bytes is not JSON serializable; use base64.b64encode(...).decode(), or a typed task"),
        (datetime.timedelta(1), "use .total_seconds()"),
        ({1}, "use sorted(...)"),
        (pathlib.Path("/secret"), "use str(...)"),
    ],
)
def test_data_that_is_not_json_says_how_to_dump_it(value: object, advice: str) -> None:
    with pytest.raises(DataError) as caught:
        Queue("q", url="redis://127.0.0.1:1").add("x", {"v": value})
    assert advice in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("owner", "name", "advice"),
    [
        (Queue, "getJob", "use 'get_job'"),
        (Queue, "addBulk", "use 'add_bulk'"),
        (aio.Queue, "upsertJobScheduler", "use 'upsert_job_scheduler'"),
        (Worker, "isRunning", "use 'is_running'"),
        (FlowProducer, "getFlow", "use 'get_flow'"),
    ],
)
def test_a_camel_case_attribute_leads_to_the_snake_case_one(owner: type, name: str, advice: str) -> None:
    made = owner.__new__(owner)
    with pytest.raises(AttributeError, match=advice):
        getattr(made, name)
    assert not hasattr(made, "nothing")


def test_a_camel_case_attribute_of_a_job_leads_to_the_snake_case_one(queue_name: str, redis_url: str) -> None:
    job = Queue(queue_name, url=redis_url).add("x")
    assert isinstance(job, JobFields)
    with pytest.raises(AttributeError, match="'Job' object has no attribute 'attemptsMade'.*use 'attempts_made'"):
        job.attemptsMade  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'payload'$"):
        job.payload  # type: ignore[attr-defined]  # noqa: B018
    assert job.data == {} and hasattr(Job, "attempts_made")


def test_calls_of_celery_on_a_result_lead_to_those_of_a_job(queue_name: str, redis_url: str) -> None:
    job = Queue(queue_name, url=redis_url).add("x")
    of_task: Any = Tasks(queue_name, url=redis_url).task(lambda: None, name="ping").enqueue()
    for owner, name, advice in [
        (of_task, "get", r"'TaskJob' object has no attribute 'get': use result\(timeout=5_000\)"),
        (of_task.aio, "get", r"use result\(timeout=5_000\)"),
        (job, "get", r"use wait_until_finished\(timeout=5_000\)"),
        (job, "ready", r"use get_state\(\)"),
        (job, "revoke", r"use cancel\(\)"),
        (job, "failed", r"use 'is_failed\(\)'"),
    ]:
        with pytest.raises(AttributeError, match=advice):
            getattr(owner, name)


def test_options_that_are_close_say_what_is_meant() -> None:
    queue = Queue("q", url="redis://127.0.0.1:1")
    with pytest.raises(InvalidOptionError, match=r"such as \{'type': 'exponential', 'delay': 1000\}"):
        queue.add("x", backoff="exponential")  # type: ignore[arg-type]
    with pytest.raises(InvalidOptionError, match=r"when - datetime\.now"):
        queue.add("x", delay=datetime.datetime(2030, 1, 1))  # type: ignore[arg-type]
    with pytest.raises(InvalidOptionError, match=r"use str\(1\)"):
        queue.get_job(1)  # type: ignore[arg-type]


def test_a_name_in_the_path_of_the_url_is_explained_without_showing_the_url() -> None:
    with pytest.raises(InvalidOptionError, match="number of a database.*prefix=") as caught:
        Queue("q", url="redis://:hunter2@host/production").add("x")
    assert "hunter2" not in str(caught.value)


def test_a_producer_that_waited_in_vain_learns_which_option_decides_how_long() -> None:
    with pytest.raises(ConnectionLostError, match=r"within 20 ms \(the option timeout=, of Tasks redis_timeout="):
        Queue("q", url="redis://127.0.0.1:1", timeout=20).add("x")


def test_a_second_process_with_an_embedded_server_of_its_own_gets_a_warning() -> None:
    program = "from bullrush import Queue; print(Queue('q', url='embedded://').count(), flush=True); input()"
    command = [sys.executable, "-c", program]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert first.stdout is not None and first.stdout.readline() == "0\n"
    try:
        second = subprocess.run(command, input="\n", capture_output=True, text=True, check=True)
    finally:
        first.communicate("\n", timeout=100)
    assert "only this process and its children see" in second.stderr and "embedded://DIR" in second.stderr


def test_a_task_in_the_place_of_a_handler_leads_to_its_registry() -> None:
    tasks = Tasks("q")
    task = tasks.task(lambda number: number, name="double")
    for handler in (task, {"double": task}):
        with pytest.raises(InvalidOptionError, match=r"is a task and no handler .* Worker\(tasks\)"):
            Worker("q", handler)
    with pytest.raises(InvalidOptionError, match=r"write Worker\(tasks\)"):
        Worker("q", tasks)
    for first in (task, {"double": print}, Tasks):
        with pytest.raises(
            QueueNameError, match="Queue name must be provided as a str, before everything else, not as"
        ):
            Worker(first)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("delay", r"use enqueue\(...\)"),
        ("apply_async", "use using"),
        ("kiq", "use await aenqueue"),
        ("si", "use bind"),
        ("retry", "use attempts="),
    ],
)
def test_calls_of_other_libraries_lead_to_those_of_a_task(name: str, advice: str) -> None:
    task = Tasks("q").task(lambda: None, name="ping")
    with pytest.raises(AttributeError, match=f"'PlainTask' object has no attribute '{name}': {advice}"):
        getattr(task, name)
    assert not hasattr(task, "nothing")


def test_calls_that_are_elsewhere_lead_there_from_a_registry() -> None:
    tasks: Any = Tasks("q")
    for name, advice in [
        ("enqueue_many", r"use bullrush\.enqueue_many\(\[task\.bind"),
        ("aenqueue_many", r"use await bullrush\.aenqueue_many\("),
        ("get_job", r"use task\.get_job\(id\)"),
    ]:
        with pytest.raises(AttributeError, match=f"'Tasks' object has no attribute '{name}': {advice}"):
            getattr(tasks, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'$"):
        tasks.nothing  # noqa: B018


@pytest.mark.parametrize("traced", [False, True])
def test_a_task_in_the_place_of_a_flow_leads_to_its_flow(traced: bool) -> None:
    task: Any = Tasks("q").task(lambda: None, name="total")
    telemetry = pytest.importorskip("bullrush.otel").OpenTelemetry("app") if traced else None
    flows: Any = FlowProducer(url="redis://127.0.0.1:1", telemetry=telemetry)
    parent = {"name": "n", "queue_name": "q"}
    for call in (
        lambda: flows.add(task),
        lambda: flows.add(task.bind()),
        lambda: flows.add_bulk([task.bind()]),
        lambda: flows.add({**parent, "children": [task.bind()]}),
    ):
        with pytest.raises(InvalidOptionError, match=r"not (NewTask|PlainTask): use task\.bind\(\.\.\.\)\.flow\("):
            call()


def test_options_of_other_libraries_lead_to_ours_in_every_call() -> None:
    with pytest.raises(InvalidOptionError, match="Tasks has no option 'connection': use 'url', such as url="):
        Tasks("q", connection={"host": "127.0.0.1"})
    with pytest.raises(InvalidOptionError, match="Tasks has no option 'defaultJobOptions': options are snake_case"):
        Tasks("q", defaultJobOptions={})
    with pytest.raises(InvalidOptionError, match="url must be a str, not object"):
        Tasks("q", url=object())
    with pytest.raises(InvalidOptionError, match=r"upsert_job_scheduler\(\) has no option 'cron': use .*'pattern'"):
        Queue("q", url="redis://127.0.0.1:1").upsert_job_scheduler("daily", cron="0 9 * * *")


def test_options_of_celery_lead_to_what_they_are_here() -> None:
    tasks: Any = Tasks("q")
    for make, advice in [
        (lambda: Tasks("q", limiter={"max": 1, "duration": 50}), r"of Tasks in worker_options=\{'limiter': "),  # type: ignore[call-arg]
        (lambda: tasks.task(ignore_result=True), "let the function return None"),
        (lambda: tasks.task(lambda: None, name="ping").using(link=print), "add the next job at its end"),
    ]:
        with pytest.raises(UnknownOptionError, match=advice):
            make()


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["purge", "mail"], "there is no 'purge'. Write 'bullrush drain QUEUE'."),
        (["beat"], "@tasks.cron"),
        (["worker", "-A", "app"], "unrecognized arguments: -A. A worker gets its tasks as module:object"),
    ],
)
def test_words_of_celery_lead_to_the_command_that_is_meant(
    words: list[str], advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main(words)
    assert advice in capsys.readouterr().err
