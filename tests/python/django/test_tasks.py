"""Tasks of Django become jobs, run in workers, and their results are read from the jobs."""

import asyncio
import json
import logging
from datetime import datetime, timedelta, timezone

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from django.utils import timezone as django_time

from bullrush.django import framework
from bullrush.django.framework import InvalidTask, TaskResultDoesNotExist, TaskResultStatus, task_backends
from bullrush.django.workers import make_workers
from bullrush.errors import InvalidOptionError, JobFailedError

PATH = "tests.python.django.shop.tasks"


def test_a_call_of_a_task_is_a_job_with_its_path_and_its_arguments_by_name(shop, queue):
    result = shop.welcome.enqueue(7, lang="de")
    job = queue.get_job(result.id.removeprefix("default:"))
    assert (job.name, job.data, job.priority) == (f"{PATH}.welcome", {"user_id": 7, "lang": "de"}, 100)
    assert (result.status, result.args, result.kwargs) == (TaskResultStatus.READY, [7], {"lang": "de"})
    assert (result.attempts, result.started_at, result.finished_at, result.errors) == (0, None, None, [])


def test_a_result_can_be_read_before_and_after_the_task_has_run(shop, work):
    before = django_time.now() - timedelta(milliseconds=1)
    result = shop.welcome.enqueue(7)
    assert shop.welcome.get_result(result.id).status == TaskResultStatus.READY
    work()
    result.refresh()
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, {"user": 7, "lang": "en"})
    assert before <= result.enqueued_at <= result.started_at == result.last_attempted_at <= result.finished_at
    assert (result.attempts, len(result.worker_ids), result.backend) == (1, 1, "default")
    again = shop.welcome.get_result(result.id)
    assert (again.args, again.kwargs, again.task) == ([], {"user_id": 7}, shop.welcome)


def test_times_are_local_where_the_project_has_no_time_zones(shop):
    with override_settings(USE_TZ=False):
        result = shop.welcome.using(run_after=datetime.now() + timedelta(hours=1)).enqueue(7)
        assert abs(result.enqueued_at - datetime.now()) < timedelta(minutes=1)
        assert shop.welcome.get_result(result.id).task.run_after > datetime.now()


def test_a_higher_priority_runs_sooner(shop, work):
    for priority in (-100, 0, 100, -1, 1):
        result = shop.welcome.using(priority=priority).enqueue(priority)
        assert shop.welcome.get_result(result.id).task.priority == priority
    shop.welcome.enqueue(0, lang="second")
    work()
    assert shop.RUNS == [(100, "en"), (1, "en"), (0, "en"), (0, "second"), (-1, "en"), (-100, "en")]


def test_run_after_delays_a_task(shop, queue, work):
    due = datetime.now(timezone.utc) + timedelta(hours=1)
    result = shop.welcome.using(run_after=due).enqueue(7)
    past = shop.welcome.using(run_after=due - timedelta(days=1)).enqueue(8)
    job = queue.get_job(result.id.removeprefix("default:"))
    assert job.get_state() == "delayed" and 3_590_000 < job.delay <= 3_600_000
    read = shop.welcome.get_result(result.id)
    assert read.status == TaskResultStatus.READY and abs(read.task.run_after - due) < timedelta(seconds=1)
    work()
    past.refresh()
    assert past.status == TaskResultStatus.SUCCESSFUL and shop.RUNS == [(8, "en")]
    job.promote()
    work()
    assert shop.RUNS == [(8, "en"), (7, "en")]


def test_a_coroutine_function_runs_and_its_calls_can_be_awaited(shop, work):
    async def use() -> tuple[object, object]:
        result = await shop.deliver.aenqueue("ann")
        before = (await shop.deliver.aget_result(result.id)).status
        await asyncio.to_thread(work, "mails")
        await result.arefresh()
        return before, result.return_value

    assert asyncio.run(use()) == (TaskResultStatus.READY, "ann by deliver")


def test_a_failed_task_has_its_exception_and_its_traceback(shop, work):
    result = shop.broken.enqueue("no such user")
    work()
    result.refresh()
    (error,) = result.errors
    assert (result.status, error.exception_class) == (TaskResultStatus.FAILED, ValueError)
    assert error.traceback.startswith("Traceback") and error.traceback.endswith("ValueError: no such user")
    assert "in broken" in error.traceback
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value


def test_an_exception_that_cannot_be_imported_is_an_exception(shop, queue, redis, work):
    result = shop.broken.enqueue()
    work()
    for title in ("shop.f.<locals>.Wrong: no", '  File "shop/settings.py", line 1', "KeyError"):
        redis.hset(queue.to_key(result.id.removeprefix("default:")), "stacktrace", json.dumps([f"{title}\nno"]))
        result.refresh()
        assert result.errors[0].exception_class is (KeyError if title == "KeyError" else Exception)


def test_a_task_is_retried_as_the_options_of_its_backend_say(shop, configure, work):
    configure(default_job_options={"attempts": 2})
    result, failing = shop.recovers.enqueue(), shop.broken.enqueue()
    work()
    result.refresh()
    failing.refresh()
    assert (result.status, result.return_value, result.attempts) == (TaskResultStatus.SUCCESSFUL, "done", 2)
    assert [error.exception_class_path for error in result.errors] == ["bullrush.errors.TransientError"]
    assert result.worker_ids[0] == "unknown" != result.worker_ids[1]
    assert (failing.status, failing.attempts, len(failing.errors)) == (TaskResultStatus.FAILED, 2, 2)


def test_a_failure_without_a_stack_trace_is_an_error_as_well(shop, queue, redis, work):
    result = shop.broken.enqueue("stalled too often")
    work()
    redis.hdel(queue.to_key(result.id.removeprefix("default:")), "stacktrace")
    (error,) = shop.broken.get_result(result.id).errors
    assert (error.exception_class, error.traceback) == (JobFailedError, "stalled too often")


def test_a_task_with_context_sees_its_own_result(shop, work):
    result = shop.inspects.enqueue(1, 2, lang="de")
    work()
    result.refresh()
    assert result.return_value == [1, "RUNNING", [1, 2], {"lang": "de"}, 1]


def test_a_result_that_is_no_json_fails_the_task(shop, work):
    result = shop.returns_no_json.enqueue()
    work()
    result.refresh()
    assert result.status == TaskResultStatus.FAILED and result.errors[0].exception_class is TypeError


def test_what_cannot_run_is_refused_before_anything_is_written(shop, redis, prefix):
    for refused, calls in (
        (TypeError, [lambda: shop.welcome.enqueue(), lambda: shop.welcome.enqueue(7, of=1)]),
        (TypeError, [lambda: shop.welcome.enqueue(object()), lambda: shop.inspects.enqueue(further="x", to={1})]),
        (InvalidTask, [lambda: shop.other_name.enqueue(), lambda: shop.welcome.using(queue_name="rare")]),
    ):
        for call in calls:
            with pytest.raises(refused):
                call()
    with pytest.raises(TypeError, match="two arguments 'further'"):
        shop.inspects.enqueue(1, further="x")
    assert list(redis.scan_iter(f"{prefix}:*")) == []


def test_an_id_without_a_task_has_no_result(shop, queue, work):
    foreign = queue.add("send", {"to": "ann"}).id
    misfit = queue.add(f"{PATH}.welcome", {"user": 7}).id
    plain = queue.add(f"{PATH}.no_task", {}).id
    for id in ("", "7", "default:7", "rare:1", f"default:{foreign}", f"default:{misfit}", f"default:{plain}"):
        with pytest.raises(TaskResultDoesNotExist):
            task_backends["default"].get_result(id)
    work()  # the worker fails them, and tells Django nothing
    reasons = [queue.get_job(id).failed_reason for id in (foreign, misfit, plain)]
    assert "There is no task 'send'" in reasons[0] or "send" in reasons[0]
    assert "user" in reasons[1] and "is a function, not a task" in reasons[2]


def test_a_job_of_a_task_that_is_not_deployed_yet_can_wait(shop, configure, queue, caplog):
    configure(worker_options={"unknown": "delay"})
    jobs = [queue.add(f"{PATH}.of_tomorrow", {}) for _ in range(2)]
    with next(worker for worker in make_workers() if worker.name == "default") as worker:
        worker.run(until="empty")
    assert [(job.get_state(), queue.get_job(job.id).attempts_made) for job in jobs] == [("delayed", 0)] * 2
    assert caplog.text.count("There is no task") == 1


def test_an_option_that_does_not_exist_is_refused(shop, configure):
    for options, text in (
        ({"ulr": "x"}, "url"),
        ({"default_job_options": {"atempts": 3}}, "attempts"),
        ({"default_job_options": {"priority": 3}}, "priority"),
        ({"worker_options": {"prefix": "other"}}, "prefix"),
    ):
        configure(**options)
        with pytest.raises(ImproperlyConfigured, match=text):
            shop.welcome.enqueue(7)


def test_the_checks_of_django_name_wrong_queues(shop):
    backend = {"BACKEND": "bullrush.django.BullrushBackend", "QUEUES": ["a:b", "n" * 45, "default"]}
    with override_settings(TASKS={"default": backend}):
        found = list(task_backends["default"].check())
    assert [one.id for one in found] == ["bullrush.E001", "bullrush.W001"]


def test_a_worker_must_know_its_queues(shop, work):
    for tasks, text in (
        ({"default": {"BACKEND": "bullrush.django.BullrushBackend", "QUEUES": []}}, "QUEUES"),
        ({"default": {"BACKEND": f"{framework._NAME}.backends.dummy.DummyBackend"}}, "no backend"),
    ):
        with override_settings(TASKS=tasks), pytest.raises(ImproperlyConfigured, match=text):
            work()


def test_options_of_workers_are_checked(shop, configure, work):
    configure(worker_options={"concurency": 2})
    with pytest.raises(InvalidOptionError, match="concurrency"):
        work()


def test_a_task_runs_in_a_process_of_its_own(shop, configure, work):
    configure(worker_options={"isolation": "process"})
    result = shop.welcome.enqueue(7)
    work()
    result.refresh()
    assert result.return_value == {"user": 7, "lang": "en"} and shop.RUNS == []


def test_connections_of_the_database_are_closed_as_after_a_request(shop, work, monkeypatch, tmp_path):
    from django.db import connections

    monkeypatch.setitem(connections.settings["default"], "NAME", str(tmp_path / "shop.sqlite3"))
    result = shop.asks_the_database.enqueue()
    work()
    result.refresh()
    assert result.return_value is True
    (used,) = shop.RUNS
    assert used.connection is None


def test_the_log_of_django_has_the_exception_of_a_failed_task(shop, work, caplog):
    with caplog.at_level(logging.INFO):
        result = shop.broken.enqueue("in the log")
        work()
    logged = [record for record in caplog.records if record.name.replace("_", ".") == "django.tasks"]
    assert [record.levelname for record in logged] == ["INFO", "ERROR"]
    assert result.id in logged[1].getMessage() and logged[1].exc_info is not None
    assert str(logged[1].exc_info[1]) == "in the log"
