"""Metrics of a worker for Prometheus, and the dashboard that shows them."""

from __future__ import annotations

import dataclasses
import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from redis import Redis

from bullrush import Job, Queue, RunStats, Worker
from bullrush.errors import InvalidOptionError
from bullrush.worker.monitoring.prometheus import merged_metrics, without_gauges
from tests.waiting import wait_until

ROOT = Path(__file__).parents[3]


def value(text: str, name: str, labels: str = "") -> float:
    return float(re.findall(rf"^{name}\{{[^}}]*{labels}[^}}]*\}} (\S+)$", text, re.MULTILINE)[0])


def test_durations_and_waiting_times_are_histograms(redis_url: str, queue: Queue, redis: Redis) -> None:
    late = queue.add("late")
    redis.hincrby(queue.to_key(late.id), "timestamp", -10_000)
    slept = queue.add("delayed", delay=60_000)
    redis.hincrby(queue.to_key(slept.id), "timestamp", -70_000)
    slept.promote()

    def handle(job: Job) -> None:
        time.sleep(0.02)
        if job.name == "late" and job.attempts_made == 0:
            raise ValueError

    queue.get_job(late.id)
    worker = Worker(queue.name, handle, url=redis_url)
    worker.run(until="empty")
    text = worker.export_prometheus_metrics({"env": "test"})
    assert value(text, "bullmq_job_duration_seconds_count", 'env="test"') == 2
    assert value(text, "bullmq_job_duration_seconds_bucket", 'le="0.01"') == 0
    assert 0.04 <= value(text, "bullmq_job_duration_seconds_sum") < 30
    assert value(text, "bullmq_job_wait_seconds_bucket", 'le="5"') == 0, (
        "10 s each: of the delay only the time after it"
    )
    assert value(text, "bullmq_job_wait_seconds_bucket", 'le="15"') == 2
    assert value(text, "bullmq_worker_completed_total") == 1
    assert value(text, "bullmq_worker_failed_total") == 1
    assert value(text, "bullmq_stalled_checker_skipped_total") == value(text, "bullmq_scheduler_repaired_total") == 0


def test_the_times_of_scripts_are_in_stats_and_metrics(
    redis: Redis, worker: Callable[..., Worker], queue: Queue
) -> None:
    """A server that answers late shows in the script that it delayed."""
    queue.add("n")
    slow = worker(lambda job: redis.client_pause(300))
    assert slow.stats() == RunStats(0, 0, 0, 0.0)
    stats = slow.run(until="empty")
    fetch, finish = stats.scripts["fetch/move_to_active"], stats.scripts["finish/move_to_finished"]
    assert 0 < fetch.p50 < 200 < finish.p50 <= finish.p99 < 10_000
    assert finish.calls == 1
    assert dataclasses.replace(slow.stats(), seconds=stats.seconds) == stats
    text = slow.export_prometheus_metrics()
    name, script = "bullmq_script_duration_seconds", 'script="finish/move_to_finished"'
    assert [value(text, f"{name}_bucket", f'{script}, le="{limit}"') for limit in ("0.1", "1", "10")] == [0, 1, 1]
    assert 0.2 < value(text, f"{name}_sum", script) < 10


def test_the_age_of_the_oldest_job_is_reported_on_request(queue: Queue, redis: Redis) -> None:
    name = "bullmq_oldest_due_job_age_seconds"
    assert name not in queue.export_prometheus_metrics()
    assert value(queue.export_prometheus_metrics(oldest_job=True), name) == 0
    redis.hincrby(queue.to_key(queue.add("n").id), "timestamp", -100_000)
    assert 100 <= value(queue.export_prometheus_metrics(oldest_job=True), name) < 160


def test_problems_are_reported_on_request(queue: Queue, redis_url: str) -> None:
    worker = Worker(queue.name, lambda job: None, url=redis_url)
    name = "bullmq_worker_problem"
    assert name not in worker.export_prometheus_metrics()

    def problems_of(worker: Worker) -> set[str]:
        text = worker.export_prometheus_metrics(problems=True)
        lines = re.findall(rf'^{name}\{{queue="{queue.name}", problem="(\w+)"\}} ([01])$', text, re.MULTILINE)
        assert len(lines) == 6
        return {problem for problem, has in lines if has == "1"}

    assert problems_of(worker) == {"stopped"}
    with Worker(queue.name, lambda job: None, url=redis_url, autorun=True) as running:
        wait_until(lambda: not problems_of(running), "it runs")
    assert problems_of(Worker(queue.name, print, url="redis://127.0.0.1:1")) == {"stopped", "disconnected"}


@pytest.mark.parametrize("label", ["queue", "state", "reason", "route", "problem", "script", "le"])
def test_a_label_of_ours_is_refused(queue: Queue, label: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"'{label}'"):
        Worker(queue.name, print, url="redis://127.0.0.1:1").export_prometheus_metrics({label: 1})


def test_pages_of_several_processes_are_added_up() -> None:
    page = '# HELP a A\n# TYPE a counter\na{q="x"} 2\n# TYPE g gauge\ng{q="x"} 1'
    assert merged_metrics([page, page]) == '# HELP a A\n# TYPE a counter\na{q="x"} 4\n# TYPE g gauge\ng{q="x"} 2\n'
    assert without_gauges(page) == page.partition("\n# TYPE g")[0]


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c", "\r"])
def test_only_a_line_feed_ends_a_line_of_metrics(end: str) -> None:
    page = f'# TYPE a counter\na{{queue="one{end}two 7"}} 2'
    assert merged_metrics([page, page]) == f'# TYPE a counter\na{{queue="one{end}two 7"}} 4\n'
    assert without_gauges(f'{page}\n# TYPE g gauge\ng{{queue="one{end}two"}} 1') == page


def test_the_dashboard_and_the_alerts_name_only_metrics_that_exist(redis_url: str, queue: Queue) -> None:
    queue.add("n")
    worker = Worker(queue.name, lambda job: None, url=redis_url)
    worker.run(until="empty")
    text = queue.export_prometheus_metrics(oldest_job=True) + "\n" + worker.export_prometheus_metrics(problems=True)
    known = set(re.findall(r"^(\w+)\{", text, re.MULTILINE))
    dashboard = json.loads((ROOT / "examples/grafana.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    (rules,) = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE | re.DOTALL)
    alerts = [rule["expr"] for group in yaml.safe_load(rules)["groups"] for rule in group["rules"]]
    named = {name for expression in asked + alerts for name in re.findall(r"bullmq_\w+", expression)}
    assert len(alerts) == 4 and len(named) >= 10
    assert named - known == set()


def test_renewals_reconnects_and_abandoned_jobs_are_counted(redis_url: str, queue: Queue, redis: Redis) -> None:
    gate = threading.Event()
    user = f"user-{queue.name}"
    redis.acl_setuser(user, reset=True, enabled=True, nopass=True, keys=["*"], channels=["*"], commands=["+@all"])
    own = redis_url.replace("redis://", f"redis://{user}:x@")
    worker = Worker(
        queue.name, lambda job: gate.wait(60), url=own, lock_duration=10_000, lock_renew_time=200, autorun=True
    )

    def count(what: str) -> float:
        return value(worker.export_prometheus_metrics(), f"bullmq_{what}_total")

    try:
        queue.add("n")
        wait_until(lambda: count("lock_renewals") >= 1, "it has renewed the lock of the job that runs")
        assert count("worker_reconnects") == count("worker_abandoned") == 0
        failed = count("lock_renewals_failed")
        redis.execute_command("ACL", "SETUSER", user, "-pexpire")
        wait_until(lambda: count("lock_renewals_failed") > failed, "a renewal has been refused")
        redis.execute_command("ACL", "SETUSER", user, "+pexpire")
        for client in redis.client_list():
            if client["user"] == user:
                redis.client_kill_filter(_id=client["id"])
        wait_until(lambda: count("worker_reconnects") >= 1, "it is connected again")
        assert count("worker_abandoned") == 0, "it still runs"
    finally:
        worker.close(force=True)
        gate.set()
        redis.acl_deluser(user)
    assert count("worker_abandoned") == 1


def test_a_worker_counts_the_stalled_jobs_that_it_has_found(redis_url: str, queue: Queue, redis: Redis) -> None:
    job = queue.add("n")
    redis.lmove(queue.to_key("wait"), queue.to_key("active"), "LEFT", "RIGHT")  # as if its worker had died
    redis.hset(queue.to_key(job.id), mapping={"ats": 1, "processedOn": job.timestamp})
    redis.sadd(queue.to_key("stalled"), job.id)
    with Worker(queue.name, lambda job: None, url=redis_url, autorun=True) as worker:
        wait_until(lambda: value(worker.export_prometheus_metrics(), "bullmq_stalled_checker_found_total") == 1)
        wait_until(lambda: job.get_state() == "completed")
    assert value(worker.export_prometheus_metrics(), "bullmq_worker_abandoned_total") == 0
