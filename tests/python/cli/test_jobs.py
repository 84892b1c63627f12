"""``bullrush jobs``, ``add``, ``logs`` and ``flow``: what they say is what the library says."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bullrush import FlowProducer, Job, Queue, Worker
from bullrush.cli.jobs import logs, selection
from tests.waiting import wait_until


def test_list_has_every_job_with_its_state(run: Callable, worked: Queue) -> None:
    found = {job["id"]: job for job in run("jobs", "list", worked.name, "--json").json}
    assert {id: job["state"] for id, job in found.items()} == {
        "1": "completed",
        "2": "failed",
        "3": "waiting",
        "4": "delayed",
    }
    for id, job in found.items():
        api = worked.get_job(id)
        assert api is not None
        due = api.timestamp + api.delay if id == "4" else None
        assert {**api.to_json(), "state": api.get_state(), "due": due} == job


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["--state", "failed"], ["2"]),
        (["--state", "waiting", "--state", "delayed"], ["3", "4"]),
        (["--name", "*e*", "--state", "completed"], ["1"]),
        (["--data", "ADA"], ["3", "1"]),
        (["--error", "no such*"], ["2"]),
        (["--error", "*timed out*"], []),
        (["--error", "ValueError*"], []),
        (["--error-type", "ValueError"], ["2"]),
        (["--error-type", "Value*", "--error", "no such*"], ["2"]),
        (["--error-type", "LookupError"], []),
        (["--where", 'error:"no such"'], ["2"]),
        (["--where", "error:such attempt<2", "--state", "failed"], ["2"]),
        (["--where", "failed>1h"], []),
        (["--id", "[34]"], ["3", "4"]),
        (["--name", "nothing"], []),
        (["--limit", "1"], ["3"]),
    ],
)
def test_jobs_are_found_by_state_name_data_and_id(
    run: Callable, worked: Queue, words: list[str], ids: list[str]
) -> None:
    assert [job["id"] for job in run("jobs", "list", worked.name, "--json", *words).json] == ids


def test_a_filter_selects_the_jobs_that_are_retried(run: Callable, worked: Queue) -> None:
    assert "0 jobs retried." in run("jobs", "retry", worked.name, "--where", "error:refused", "--yes").out
    assert "1 job retried." in run("jobs", "retry", worked.name, "--where", "failed<1h", "--yes").out
    assert worked.get_job_state("2") == "waiting"


def test_a_filter_that_cannot_be_read_is_a_wrong_use(run: Callable, worked: Queue) -> None:
    ended = run("jobs", "list", worked.name, "--where", "nam:x")
    assert ended.code == 2 and "Did you mean 'name'?" in ended.err


def test_only_the_jobs_with_this_error_are_retried(run: Callable, worked: Queue) -> None:
    assert "0 jobs retried." in run("jobs", "retry", worked.name, "--error", "*timed out*", "--yes").out
    assert "1 job retried." in run("jobs", "retry", worked.name, "--error", "no such*", "--yes").out
    assert worked.get_job_state("2") == "waiting"


def test_the_table_names_the_workers_if_they_have_names(run: Callable, worked: Queue, redis_url: str) -> None:
    assert "worker" not in run("jobs", "list", worked.name).out
    with Worker(worked.name, lambda job: None, url=redis_url, name="w7") as worker:
        worker.run(until="empty")
    assert "w7" in run("jobs", "list", worked.name).out


def test_failures_are_grouped_and_exactly_those_of_a_group_are_retried(
    run: Callable, queue: Queue, redis_url: str
) -> None:
    def handle(job: Job) -> None:
        if job.name == "pay":
            raise ValueError(f"order {job.id} is not paid")
        raise KeyError(job.id)

    queue.add_bulk([{"name": name, "data": {}} for name in ("pay", "send", "pay")])
    with Worker(queue.name, handle, url=redis_url) as worker:
        worker.run(until="empty")
    first, second = run("failures", queue.name, "--json").json
    assert (first["count"], first["names"], sorted(first["job_ids"])) == (2, {"pay": 2}, ["1", "3"])
    assert second["error"] == "KeyError"
    shown = run("failures", queue.name).out
    assert first["id"] in shown and "ValueError: order <n> is not paid" in shown
    assert [job["id"] for job in run("jobs", "list", queue.name, "--failure", second["id"], "--json").json] == ["2"]
    assert "2 jobs retried." in run("jobs", "retry", queue.name, "--failure", first["id"], "--yes").out
    assert [job.id for job in queue.get_failed()] == ["2"]


def test_why_is_the_sentence_of_the_library(run: Callable, worked: Queue) -> None:
    found = run("why", worked.name, "3")
    assert found.code == 0
    assert found.out == f"{worked.name} 3 (waiting): {worked.why('3').sentence}\n"
    assert run("why", worked.name, "3", "--json").json["reasons"] == ["no-worker"]
    gone = run("why", worked.name, "77")
    assert gone.code == 1 and "it was removed, or never added" in gone.out


def test_search_reads_page_after_page_also_in_a_paused_queue(
    run: Callable, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "_PAGE", 3)
    queue.add_bulk([{"name": "x", "data": {"n": n}} for n in range(10)])
    assert [job["id"] for job in run("jobs", "list", queue.name, "--json").json] == [str(n + 1) for n in range(10)]
    queue.pause()
    assert [job["id"] for job in run("jobs", "list", queue.name, "--json", "--data", '"n":8').json] == ["9"]


def test_show_has_data_result_reason_trace_log_and_children(run: Callable, worked: Queue) -> None:
    shown = run("jobs", "show", worked.name, "1", "--json").json
    assert (shown["state"], shown["returnvalue"], shown["logs"]) == ("completed", {"sent": True}, ["first", "second"])
    assert set(shown["children"].values()) == {0}
    text = run("jobs", "show", worked.name, "1").out
    assert '{"user":"Ada"}' in text and '{"sent":true}' in text and "first\n  second" in text
    broken = run("jobs", "show", worked.name, "2").out
    assert "no such user" in broken and 'raise ValueError("no such user")' in broken


def test_the_reason_stands_once_in_a_stack_trace_of_python(run: Callable, worked: Queue, redis) -> None:
    _, _, trace = run("jobs", "show", worked.name, "2").out.partition("stack trace of the last failure:\n")
    assert trace.startswith("  Traceback (most recent call last):\n") and trace.count("ValueError: no such user") == 1
    node = "Error: no such user\n    at send (/app/mail.js:7:9)"
    redis.hset(worked.to_key("2"), "stacktrace", json.dumps([node]))
    assert f"  {node}".replace("\n", "\n  ") in run("jobs", "show", worked.name, "2").out


def test_long_values_are_shortened_with_a_hint(run: Callable, queue: Queue) -> None:
    queue.add("x", {"text": "ab" * 5_000})
    short = run("jobs", "show", queue.name, "1").out
    assert len(short) < 3_000 and "(10,011 characters; --full shows all)" in short
    assert "ab" * 5_000 in run("jobs", "show", queue.name, "1", "--full").out


def test_a_job_with_broken_data_can_be_listed_and_shown(run: Callable, queue: Queue, redis) -> None:
    queue.add("x", {"secret": 1})
    redis.hset(queue.to_key("1"), "data", "{oops")
    assert "not valid JSON" in run("jobs", "list", queue.name, "--json").json[0]["error"]
    assert "not valid JSON" in run("jobs", "show", queue.name, "1").out
    assert run("jobs", "list", queue.name, "--data", "oops").code == 0


def test_retry_and_promote_by_id(run: Callable, worked: Queue) -> None:
    assert run("jobs", "retry", worked.name, "2", "--json").json == {"queue": worked.name, "done": ["2"], "failed": []}
    assert run("jobs", "promote", worked.name, "4").out == "1 job promoted.\n"
    assert worked.get_job_state("2") == worked.get_job_state("4") == "waiting"
    assert run("jobs", "retry", worked.name, "1", "--state", "completed", "--reset-attempts").code == 0
    job = worked.get_job("1")
    assert job is not None and (job.get_state(), job.attempts_made) == ("waiting", 0)


def test_update_replaces_the_data_and_runs_a_job_that_has_ended_again(
    run: Callable, worked: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def job(id: str) -> tuple[object, str]:
        found = worked.get_job(id)
        assert found is not None
        return found.data, found.get_state()

    kept = run("jobs", "update", worked.name, "2", '{"user": "Ada"}')
    assert (kept.code, kept.out) == (0, "The data of job 2 was replaced.\n")
    assert f"bullrush jobs retry {worked.name} 2 --state failed" in kept.err
    assert job("2") == ({"user": "Ada"}, "failed")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b'{"user": "Bob"}')))
    retried = run("jobs", "update", worked.name, "2", "-", "--retry")
    assert retried.out == "The data of job 2 was replaced. The job was retried.\n"
    assert job("2") == ({"user": "Bob"}, "waiting")
    answer = run("jobs", "update", worked.name, "1", "[1]", "--retry", "--json").json
    assert answer == {"queue": worked.name, "id": "1", "state": "completed", "retried": True}
    assert job("1") == ([1], "waiting")
    answer = run("jobs", "update", worked.name, "4", "7", "--retry", "--json").json
    assert (answer["state"], answer["retried"]) == ("delayed", False)
    assert job("4") == (7, "delayed")


@pytest.mark.parametrize(
    ("id", "data", "code", "advice"),
    [("2", "user=hunter2", 2, "must be JSON"), ("2", "@/nowhere", 2, "cannot read /nowhere"),
     ("77", "{}", 1, "has no job '77'")],
)  # fmt: skip
def test_update_refuses_what_is_wrong_and_changes_nothing(
    run: Callable, worked: Queue, id: str, data: str, code: int, advice: str
) -> None:
    ended = run("jobs", "update", worked.name, id, data, "--retry")
    assert (ended.code, ended.out) == (code, "") and advice in ended.err and "hunter2" not in ended.err
    job = worked.get_job("2")
    assert job is not None and (job.data, job.get_state()) == ({"user": "Eve"}, "failed")
    assert worked.get_job("77") is None


def test_update_says_that_a_running_attempt_keeps_the_old_data(
    run: Callable, queue: Queue, worker: Callable[..., Worker]
) -> None:
    started, gate = threading.Event(), threading.Event()

    def handle(job: Job) -> object:
        started.set()
        gate.wait(30)
        return job.data

    job = queue.add("n", "old")
    worker(handle, autorun=True)
    assert started.wait(10)
    ended = run("jobs", "update", queue.name, job.id, '"new"', "--retry")
    gate.set()
    assert ended.code == 0 and "the attempt that runs has the old data" in ended.err
    assert job.wait_until_finished(timeout=10_000) == "old"


def test_a_job_that_could_not_be_retried_after_its_update_is_told(
    run: Callable, worked: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Job, "get_state", lambda job: "completed")  # it was, and somebody else has retried it
    ended = run("jobs", "update", worked.name, "2", "{}", "--retry")
    assert ended.code == 1 and "the data was replaced, but the job was not retried: " in ended.err


def test_a_job_that_cannot_be_changed_is_named_and_the_others_are_changed(run: Callable, worked: Queue) -> None:
    ended = run("jobs", "retry", worked.name, "1", "2", "77", "--json")
    answer = json.loads(ended.out)
    assert (ended.code, answer["done"], [one["id"] for one in answer["failed"]]) == (1, ["2"], ["1", "77"])
    assert "has no job '77'" in answer["failed"][1]["error"]
    plain = run("jobs", "promote", worked.name, "3")
    assert plain.code == 1 and plain.err.startswith("job 3: ") and plain.out == "0 jobs promoted.\n"


def test_many_are_removed_by_pattern_only_with_yes(run: Callable, worked: Queue) -> None:
    refused = run("jobs", "remove", worked.name, "--data", "Ada")
    assert refused.code == 2 and "Remove 2 jobs of" in refused.err and "--yes is needed" in refused.err
    assert worked.get_job("1") is not None
    assert run("jobs", "remove", worked.name, "--data", "Ada", "--yes", "--json").json["done"] == ["3", "1"]
    assert [worked.get_job(id) is None for id in "1234"] == [True, False, True, False]
    assert run("jobs", "remove", worked.name, "--all", "--yes").out == "2 jobs removed.\n"
    assert sum(worked.get_job_counts().values()) == 0


@pytest.mark.parametrize("words", [[], ["1", "--all"], ["1", "--name", "x"]])
def test_jobs_to_change_are_selected_in_one_way(run: Callable, worked: Queue, words: list[str]) -> None:
    assert run("jobs", "retry", worked.name, *words).code == 2


def test_cancel_stops_a_running_job_with_a_reason(run: Callable, queue: Queue, redis_url: str) -> None:
    started = threading.Event()

    def handle(job) -> None:
        started.set()
        wait_until(lambda: job.cancelled)
        job.check_cancelled()

    queue.add("x")
    with Worker(queue.name, handle, url=redis_url, autorun=True):
        assert started.wait(10)
        assert run("jobs", "cancel", queue.name, "1", "--reason", "wrong file").out == "1 job asked to stop.\n"
        wait_until(lambda: queue.get_job_state("1") == "failed")
    job = queue.get_job("1")
    assert job is not None and job.failed_reason == "wrong file"
    again = run("jobs", "cancel", queue.name, "1")
    assert again.code == 1 and again.err == "job 1: it is failed: no worker runs it\n"
    queue.add("x", delay=60_000)
    later = run("jobs", "cancel", queue.name, "2")
    assert later.err == "job 2: it is delayed: no worker runs it; remove it to keep it from running\n"


def test_the_list_says_for_how_long_jobs_run_and_when_delayed_and_retried_ones_are_due(
    run: Callable, queue: Queue, redis_url: str
) -> None:
    release = threading.Event()

    def handle(job: Any) -> None:
        if job.name == "again":
            raise ValueError("no")
        release.wait(20)

    assert "running for" not in run("jobs", "list", queue.name).out
    queue.add(
        "again", attempts=2, backoff=1_800_000, timestamp=queue.add("later", delay=600_000).timestamp - 9 * 3600_000
    )
    queue.add("long")
    with Worker(queue.name, handle, url=redis_url, autorun=True, concurrency=2):
        wait_until(lambda: queue.get_active_count() == 1 and queue.get_delayed_count() == 2)
        shown = run("jobs", "list", queue.name)
        found = {job["name"]: job for job in run("jobs", "list", queue.name, "--json").json}
        release.set()
    titles, *rows = (line.split("  ") for line in shown.out.splitlines())
    names = ["id", "name", "state", "added", "running for", "due", "attempts", "reason"]
    assert [title.strip() for title in titles if title] == names
    assert "in 9m" in shown.out and "in 29m" in shown.out and len(rows) == 3
    assert found["later"]["due"] == found["later"]["timestamp"] + 600_000
    assert abs(found["again"]["due"] - found["again"]["processed_on"] - 1_800_000) < 60_000
    assert (found["long"]["due"], found["long"]["processed_on"] is not None) == (None, True)
    assert "due " in run("jobs", "show", queue.name, found["again"]["id"]).out


def test_add_takes_data_options_files_and_standard_input(
    run: Callable, queue: Queue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--delay", "10m", "--attempts", "3", "--backoff", "30s", "--job-id", "a", "--options", '{"priority": 2}')
    assert run("add", queue.name, "welcome", '{"user": 7}', *words).out == "a\n"
    job = queue.get_job("a")
    assert job is not None and (job.name, job.data, job.delay) == ("welcome", {"user": 7}, 600_000)
    assert job.opts["attempts"] == 3 and job.opts["backoff"] == {"type": "fixed", "delay": 30_000}
    assert job.priority == 2
    (tmp_path / "data.json").write_text('{"from": "file"}')
    assert run("add", queue.name, "x", f"@{tmp_path / 'data.json'}", "--json").json["data"] == {"from": "file"}
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b'{"from": "pipe"}')))
    assert run("add", queue.name, "x", "-", "--json").json["data"] == {"from": "pipe"}


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["x", "user=hunter2"], "must be JSON"),
        (["x", "@/nowhere"], "cannot read /nowhere"),
        (["x", "{}", "--options", "[]"], "JSON object"),
        (["x", "{}", "--options", '{"attemps": 3}'], "Did you mean 'attempts'?"),
        (["x", "{}", "--delay", "soon"], "is no time"),
        (["x", "{}", "--job-id", "7"], "order-7"),
    ],
)
def test_add_refuses_what_is_wrong_and_adds_nothing(run: Callable, queue: Queue, words: list[str], advice: str) -> None:
    ended = run("add", queue.name, *words)
    assert ended.code == 2 and advice in ended.err and "hunter2" not in ended.err
    assert queue.count() == 0


def test_logs_prints_the_rows_and_follows_until_the_end(
    run: Callable, worked: Queue, redis_url: str, monkeypatch
) -> None:
    monkeypatch.setattr(logs, "_POLL_SECONDS", 0.01)
    assert run("logs", worked.name, "1").out == "first\nsecond\n"
    assert run("logs", worked.name, "1", "-n", "1", "--json").json == ["second"]
    assert run("logs", worked.name, "1", "-f", "--json").out == '"first"\n"second"\n'
    worked.add_job_log("3", "before")

    def finish() -> None:
        worked.add_job_log("3", "after")
        with Worker(worked.name, lambda job: job.log("at the end"), url=redis_url) as worker:
            worker.run(until="empty")

    later = threading.Timer(0.05, finish)
    later.start()
    assert run("logs", worked.name, "3", "--follow").out == "before\nafter\nat the end\n"
    later.join()


def test_why_and_flow_lead_to_the_failed_child_for_which_a_parent_waits(
    run: Callable, queue: Queue, redis_url: str
) -> None:
    def handle(job: Any) -> None:
        if job.name == "bad":
            raise ValueError("no such file")

    children = [{"name": name, "queue_name": queue.name} for name in ("good", "good", "bad", "good", "later")]
    children[-1]["opts"] = {"delay": 600_000}
    with FlowProducer(url=redis_url) as flows:
        root = flows.add({"name": "whole", "queue_name": queue.name, "children": children}).job
    with Worker(queue.name, handle, url=redis_url) as worker:
        worker.run(until="drained")
    (bad,) = queue.get_failed()
    assert (root.get_dependencies_count()["failed"], root.get_dependencies_count()["unprocessed"]) == (0, 2)
    assert f"It waits for 2 of 5 children: bull:{queue.name}:{bad.id} (failed)" in run("why", queue.name, root.id).out
    shown = run("flow", queue.name, root.id)
    assert shown.out.splitlines()[1] == f"├── bad  {queue.name}:{bad.id}  failed"
    assert shown.err == f"1 failed: {queue.name}:{bad.id}. One again: bullrush jobs retry {queue.name} {bad.id}\n"
    assert run("flow", queue.name, root.id, "--json").json["children"][0]["id"] == bad.id
    assert run("jobs", "retry", queue.name, bad.id).code == 0
    assert "failed" not in run("flow", queue.name, root.id).err


def test_flow_is_a_tree_with_states(run: Callable, queue: Queue, redis_url: str) -> None:
    child = {"name": "part", "queue_name": queue.name}
    with FlowProducer(url=redis_url) as flows:
        root = flows.add(
            {"name": "whole", "queue_name": queue.name, "children": [{**child, "children": [child]}, child]}
        )
    tree = run("flow", queue.name, root.job.id, "--json").json
    assert (tree["name"], tree["state"], len(tree["children"])) == ("whole", "waiting-children", 2)
    names = sorted(one["state"] for one in tree["children"])
    assert names == ["waiting", "waiting-children"]
    lines = run("flow", queue.name, root.job.id).out.splitlines()
    assert lines[0] == f"whole  {queue.name}:{root.job.id}  waiting-children"
    assert len(lines) == 4 and lines[-1].lstrip("│ ")[0] == "└"
    assert len(run("flow", queue.name, root.job.id, "--depth", "2").out.splitlines()) == 3
    shown = run("jobs", "show", queue.name, root.job.id)
    assert "children:" in shown.out and f"unfinished: bull:{queue.name}:" in shown.out


def test_the_name_of_a_key_of_the_queue_is_no_job_and_stops_no_other_one(run: Callable, queue: Queue) -> None:
    queue.set_global_concurrency(3)
    queue.add("n", job_id="a")
    queue.add("n", job_id="c")
    result = run("jobs", "remove", queue.name, "a", "meta", "delayed", "c", "--yes", "--json")
    assert result.code == 1
    assert json.loads(result.out)["done"] == ["a", "c"]
    assert [one["id"] for one in json.loads(result.out)["failed"]] == ["meta", "delayed"]
    assert "no job 'meta'" in run("jobs", "update", queue.name, "meta", '{"a": 1}').err
    assert queue.get_global_concurrency() == 3


def test_the_next_job_of_a_scheduler_leads_to_the_command_that_removes_both(run: Callable, queue: Queue) -> None:
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *"})
    (due,) = queue.get_delayed()
    error = run("jobs", "remove", queue.name, due.id, "--yes").err
    assert f"cannot be removed alone: 'bullrush schedulers {queue.name} --remove ID'" in error
