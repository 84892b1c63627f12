"""The commands about queues as a whole: what they say is what the library says."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import pytest
from redis import Redis

from bullrush import Queue, Worker, aio
from bullrush.cli.terminal.output import moment
from bullrush.errors import InvalidOptionError
from bullrush.queue import queue_names
from bullrush.rights import acl_rule, read_roles
from bullrush.testing import Clock


def test_info_has_counts_workers_and_rates(run: Callable, worked: Queue, redis_url: str, redis) -> None:
    redis.lpush(worked.to_key("metrics:completed:data"), 7)
    worked.pause()
    with Worker(worked.name, lambda job: None, url=redis_url) as worker:
        worker.wait_until_ready()
        [info] = run("info", worked.name, "--json").json
        workers = run("workers", worked.name, "--json").json
        assert [one["id"] for one in workers] == [one["id"] for one in worked.get_workers()]
    api = worked.get_job_counts()
    assert info["counts"] == {**{state: api[state] for state in api if state != "paused"}, "waiting": 1}
    assert (info["queue"], info["paused"], info["workers"]) == (worked.name, True, 1)
    assert info["rates"] == {"completed": 7, "failed": None}
    table = run("info", worked.name).out
    assert f"{worked.name} (paused)" in table and "delayed" in table and "waiting-children" not in table


def test_info_says_the_version(run: Callable, worked: Queue, redis_url: str, redis: Redis) -> None:
    def shown() -> tuple[str | None, str | None, bool]:
        [info] = run("info", worked.name, "--json").json
        table = run("info", worked.name).out
        return info["version"], info["compat"], f"{worked.name} (bullmq:6.7.0)" in table

    assert shown() == ("bullmq:5.62.0", None, False)
    redis.hset(worked.to_key("meta"), "version", "bullmq:6.7.0")
    assert shown() == ("bullmq:6.7.0", None, True)
    Queue(worked.name, url=redis_url, compat="5").get_job_counts()
    assert shown() == ("bullmq:6.7.0", "5", False)
    assert f"{worked.name} (bullmq:6.7.0, as Bull" in run("info", worked.name).out
    redis.hset(worked.to_key("meta"), "ext:compat", "six")
    assert shown() == ("bullmq:6.7.0", None, True)


@pytest.mark.parametrize("role", ["worker", "producer"])
def test_a_user_who_may_not_look_for_queues_gets_the_error_that_there_is_none(
    run: Callable, queue_name: str, redis_url: str, redis: Redis, role: str
) -> None:
    about = read_roles()[role]
    redis.execute_command(*acl_rule([*about.needed, *about.useful], user=queue_name, password="x").split())
    url = redis_url.replace("//", f"//{queue_name}:x@")
    try:
        ended = run("info", queue_name, "--url", url)
        Queue(queue_name, url=redis_url).add("send")
        assert run("info", queue_name, "--url", url, "--json").json[0]["counts"]["waiting"] == 1
    finally:
        redis.acl_deluser(queue_name)
    assert ended.code == 1 and f"there is no queue '{queue_name}'" in ended.err


def test_info_finds_all_queues_of_a_prefix(run: Callable, queue_name: str, redis_url: str) -> None:
    prefix = f"p[{queue_name}"
    names = [f"{queue_name}", "b*", "c d"]
    for name in names:
        Queue(name, url=redis_url, prefix=prefix).add("meta")
    Queue("other", url=redis_url, prefix=f"{prefix}]").add("x", job_id="a:b:meta")
    assert [info["queue"] for info in run("info", "--prefix", prefix, "--json").json] == sorted(names)
    assert sorted(queue_names(redis_url, prefix)) == sorted(names)

    async def found() -> list[str]:
        return sorted([name async for name in aio.queue_names(redis_url, prefix)])

    assert asyncio.run(found()) == sorted(names)
    Queue(queue_name, url=redis_url, prefix=prefix).obliterate()
    assert sorted(queue_names(redis_url, prefix)) == ["b*", "c d"]
    for name in ("b*", "c d"):
        Queue(name, url=redis_url, prefix=prefix).obliterate()
    Queue("other", url=redis_url, prefix=f"{prefix}]").obliterate()
    empty = run("info", "--prefix", prefix)
    assert empty.code == 0 and "There are no queues" in empty.err


def test_queue_names_checks_its_arguments(redis_url: str) -> None:
    with pytest.raises(InvalidOptionError, match="prefix"):
        list(queue_names(redis_url, ""))


def test_counts_are_those_of_the_library(run: Callable, worked: Queue) -> None:
    assert run("counts", worked.name, "--json").json == worked.get_job_counts()
    assert run("counts", worked.name, "failed", "--json").json == {"failed": 1}
    assert run("counts", worked.name, "failed", "delayed").out.split() == [
        "state",
        "jobs",
        "failed",
        "1",
        "delayed",
        "1",
    ]


def test_schedulers_are_listed_with_the_next_first(run: Callable, queue: Queue) -> None:
    queue.upsert_job_scheduler("yearly", {"pattern": "0 0 1 1 *", "tz": "Europe/Berlin"}, {"name": "report"})
    queue.upsert_job_scheduler("often", {"every": 60_000})
    found = run("schedulers", queue.name, "--json").json
    assert found == [{**one, "stopped": None, "overdue": False} for one in queue.get_job_schedulers(asc=True)]
    header, *rows = run("schedulers", queue.name).out.splitlines()
    assert header.startswith("id") and [row.split()[0] for row in rows] == ["often", "yearly"]
    # Each in its own time zone, so that the next time is that of the pattern.
    assert "-01-01 00:00:00+01:00 (in " in rows[1] and "+00:00 (" in rows[0]


@pytest.mark.parametrize("zone", ["Not/AZone", "../etc/passwd", ""])
def test_a_time_in_a_zone_that_python_does_not_know_is_shown_in_utc(zone: str) -> None:
    shown = moment(1_700_000_000_000, zone)
    assert shown is not None and shown.startswith("2023-11-14 22:13:20+00:00 (")


def test_a_scheduler_is_removed_by_its_id_after_a_question(run: Callable, queue: Queue) -> None:
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *"})
    queue.upsert_job_scheduler("hourly", {"every": 3_600_000})
    refused = run("schedulers", queue.name, "--remove", "nightly")
    assert refused.code == 2 and f"Remove these job schedulers of {queue.name}: nightly?" in refused.err
    wrong = run("schedulers", queue.name, "--remove", "nightly", "--remove", "weekly", "--yes")
    assert wrong.code == 1 and f"{queue.name} has no job scheduler weekly; nothing was removed" in wrong.err
    assert queue.get_job_schedulers_count() == 2
    assert run("schedulers", queue.name, "--remove", "nightly", "--yes", "--json").json == {
        "queue": queue.name, "removed": ["nightly"],
    }  # fmt: skip
    assert [scheduler["key"] for scheduler in queue.get_job_schedulers()] == ["hourly"]


def test_a_scheduler_that_makes_no_more_jobs_is_stopped_and_has_no_next_run(
    run: Callable, queue: Queue, redis: Redis
) -> None:
    queue.upsert_job_scheduler("hourly", {"every": 3_600_000})
    queue.upsert_job_scheduler("nightly", {"pattern": "0 3 * * *"})
    (next_one,) = [one["next"] for one in queue.get_job_schedulers() if one["key"] == "nightly"]
    redis.zrem(queue.to_key("delayed"), f"repeat:nightly:{next_one}")
    redis.delete(queue.to_key(f"repeat:nightly:{next_one}"))
    listed = run("schedulers", queue.name)
    assert (
        re.search(r"^nightly .* stopped ", listed.out, re.MULTILINE) and "nightly: It makes no more jobs" in listed.err
    )
    assert "nightly" not in run("schedulers", queue.name, "--next", "2").out
    coming = {one["key"]: len(one["coming"]) for one in run("schedulers", queue.name, "--next", "2", "--json").json}
    assert coming == {"hourly": 2, "nightly": 0}


def test_schedulers_shows_the_next_runs_by_their_time(run: Callable, queue: Queue) -> None:
    queue.upsert_job_scheduler("hourly", {"pattern": "0 * * * *", "tz": "UTC"})
    queue.upsert_job_scheduler("weekly", {"pattern": "0 0 * * 1", "tz": "Europe/Berlin"})
    found = {one["key"]: one for one in run("schedulers", queue.name, "--next", 3, "--json").json}
    first = found["hourly"]["next"]
    assert found["hourly"]["coming"] == [first, first + 3_600_000, first + 7_200_000]
    _, *rows = run("schedulers", queue.name, "--next", 3).out.splitlines()
    weeks = [row for row in rows if "weekly" in row]
    assert (len(rows), len(weeks), "00:00:00+0" in weeks[0]) == (6, 3, True)
    assert [row.split("  ")[1].strip() for row in rows if "hourly" in row] == ["hourly"] * 3
    assert run("schedulers", queue.name, "--next", 1).code == 0
    queue.remove_job_scheduler("hourly")
    queue.remove_job_scheduler("weekly")
    assert "Nothing comes" in run("schedulers", queue.name, "--next", 1).err


def test_a_run_that_nobody_takes_is_shown_first_as_overdue(run: Callable, queue: Queue) -> None:
    with Clock() as clock:
        queue.upsert_job_scheduler("hourly", {"pattern": "0 * * * *", "tz": "UTC"})
        queue.upsert_job_scheduler("yearly", {"pattern": "0 0 1 1 *", "tz": "UTC"})
        _, *rows = run("schedulers", queue.name, "--next", 2).out.splitlines()
        assert len(rows) == 4 and not any("overdue" in row for row in rows)
        clock.advance(3_700_000)
        _, first, *others = run("schedulers", queue.name, "--next", 2).out.splitlines()
        assert "hourly" in first and "(overdue)" in first
        assert len(others) == 4 and not any("overdue" in row for row in others)
        found = run("schedulers", queue.name, "--json").json
        assert {one["key"]: one["overdue"] for one in found} == {"hourly": True, "yearly": False}
        assert "(overdue)" in run("schedulers", queue.name).out


def test_schedulers_whose_code_has_gone_are_pruned_and_others_stay(
    run: Callable, queue: Queue, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(module: str, *names: str) -> None:
        lines = ["from bullrush import Tasks", f"tasks = Tasks({queue.name!r}, url={redis_url!r})"]
        for name in names:
            lines += ['@tasks.cron("0 3 * * *", tz="UTC")', f"def {name}() -> None: ..."]
        (tmp_path / f"{module}.py").write_text("\n".join(lines))

    monkeypatch.chdir(tmp_path)
    old, new = (f"{when}_{queue.name[-8:]}" for when in ("old", "new"))
    write(old, "nightly", "dropped")
    write(new, "nightly")
    queue.upsert_job_scheduler("foreign", {"every": 60_000})
    monkeypatch.syspath_prepend(tmp_path)
    with Worker(import_module(old).tasks, url=redis_url) as worker:
        worker.run(until="empty")
    words = ("schedulers", queue.name, "--prune", f"{new}:tasks")
    refused = run(*words)
    assert refused.code == 2 and f"Remove these job schedulers of {queue.name}: dropped?" in refused.err
    assert run(*words, "--yes", "--json").json == {"queue": queue.name, "removed": ["dropped"]}
    assert {scheduler["key"] for scheduler in queue.get_job_schedulers()} == {"nightly", "foreign"}
    assert run(*words).out.startswith("Nothing to remove")
    wrong = run("schedulers", queue.name, "--prune", "os:path")
    assert wrong.code == 2 and "is no Tasks of the queue" in wrong.err


def test_events_are_read_from_the_past_and_filtered(run: Callable, worked: Queue) -> None:
    lines = run("events", worked.name, "--since", "1h", "--limit", "3", "--json").out.splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["added", "waiting", "added"]
    failed = run("events", worked.name, "--since", "1h", "--only", "failed", "-n", "1", "--json").json
    assert (failed["jobId"], failed["failedReason"]) == ("2", "no such user")
    [line] = run("events", worked.name, "--since", "1h", "--job", "4", "-n", "1").out.splitlines()
    assert "added" in line and '{"name":"later"}' in line


def test_pause_and_resume(run: Callable, queue: Queue) -> None:
    queue.add("x")
    assert run("pause", queue.name, "--json").json == {"queue": queue.name, "paused": True}
    assert queue.is_paused()
    assert run("resume", queue.name).out == f"{queue.name} is running.\n"
    assert not queue.is_paused()


def test_drain_removes_what_waits(run: Callable, worked: Queue) -> None:
    assert run("drain", worked.name).code == 2
    assert run("drain", worked.name, "--yes", "--json").json == {"queue": worked.name, "removed": 1}
    assert worked.get_job_count_by_types("waiting", "delayed") == 1
    assert run("drain", worked.name, "--yes", "--delayed", "--json").json["removed"] == 1


def test_clean_removes_old_jobs_of_a_state(run: Callable, worked: Queue) -> None:
    assert run("clean", worked.name, "--state", "failed", "--older", "1h", "--yes", "--json").json["removed"] == []
    assert run("clean", worked.name, "--state", "failed", "--yes", "--json").json["removed"] == ["2"]
    assert run("clean", worked.name, "--yes").out == f"1 job removed from {worked.name}.\n"


def test_clean_removes_old_jobs_of_routes_if_it_is_asked_to(run: Callable, queue: Queue, redis_url: str) -> None:
    target = {"server": "pod-1"}
    queue.add("x", target=target)
    with Worker(queue.name, lambda job: None, url=redis_url, profile=target) as worker:
        worker.run(until="empty")
    assert run("clean", queue.name, "--yes", "--json").json["removed"] == []
    assert run("clean", queue.name, "--routes", "--yes").out == f"1 job removed from {queue.name} and its routes.\n"


def test_obliterate_removes_the_queue_but_not_under_running_jobs(run: Callable, worked: Queue, redis_url: str) -> None:
    with Worker(worked.name, None, url=redis_url) as worker:
        job = worker.get_next_job("token")
        assert job is not None
        refused = run("obliterate", worked.name, "--yes")
        assert refused.code == 1 and "1 active jobs" in refused.err and not worked.is_paused()
        assert run("obliterate", worked.name, "--yes", "--force", "--json").json == {"queue": worked.name, "removed": 4}
    assert run("counts", worked.name).code == 1


def test_the_jobs_of_routes_are_shown_paused_and_removed(run: Callable, queue: Queue) -> None:
    route = queue.route({"capabilities": ["gpu"]})
    route.add("a")
    route.add("b", delay=60_000)
    assert run("counts", queue.name, "waiting", "--json").json == {"waiting": 0, "paused": 0}
    assert run("counts", queue.name, "waiting", "--routes", "--json").json == {"waiting": 1, "paused": 0}
    run("pause", queue.name)
    assert route.is_paused()
    run("resume", queue.name)
    assert run("drain", queue.name, "--yes", "--json").json["removed"] == 1
    assert run("obliterate", queue.name, "--yes", "--json").json["removed"] == 1
    assert route.get_job_count_by_types() == 0


def test_commands_that_read_write_no_settings(run: Callable, queue: Queue, redis) -> None:
    for command in ("counts", "workers", "schedulers"):
        assert run(command, queue.name).code == 1
    assert redis.keys(f"bull:{queue.name}:*") == []


def test_health_tells_what_is_wrong_with_a_queue_by_its_exit_code(run: Callable, queue: Queue, redis: Redis) -> None:
    queue.add_bulk([{"name": "n"}] * 3)
    well = run("health", queue.name)
    assert well.code == 0 and re.search(r"^health +healthy$", well.out, re.MULTILINE)
    assert run("health", queue.name, "--max-waiting", "3", "--max-oldest", "10m").code == 0
    crowded = run("health", queue.name, "--max-waiting", "2")
    assert crowded.code == 1 and "crowded: more than 2 jobs wait for a worker" in crowded.out
    for id in "123":
        redis.hincrby(queue.to_key(id), "timestamp", -3_600_000)
    limits = ("--max-waiting", "0", "--max-oldest", "5m")
    ended = run("health", queue.name, *limits, "--json")
    found = json.loads(ended.out)
    assert (ended.code, found["healthy"], found["problems"]) == (1, False, ["stuck", "crowded", "late"])
    api = queue.health(max_waiting=0, max_oldest=300_000)
    assert found.keys() == {*asdict(api), "healthy"} and found["waiting"] == api.waiting == 3
    text = run("health", queue.name, *limits).out
    assert "late: a job has been due for longer than 300000 ms" in text
    assert re.search(r"^oldest due +1h$", text, re.MULTILINE)
    assert run("health", queue.name, "--stuck-after", "2h").code == 0


def test_health_refuses_a_limit_below_0(run: Callable, queue: Queue) -> None:
    queue.add("n")
    ended = run("health", queue.name, "--max-waiting", "-1")
    assert ended.code == 2 and "max_waiting" in ended.err


def test_limits_are_shown_set_and_removed(run: Callable, worked: Queue) -> None:
    assert "no limit" in run("limits", worked.name).out
    shown = run("limits", worked.name, "--concurrency", "4", "--rate", "100/1m", "--json").json
    assert shown == {"queue": worked.name, "concurrency": 4, "rate": {"max": 100, "duration": 60_000}}
    assert (worked.get_global_concurrency(), worked.get_global_rate_limit()) == (4, {"max": 100, "duration": 60_000})
    assert "7 per 1,000 ms" in run("limits", worked.name, "--rate", "7/s").out
    run("limits", worked.name, "--concurrency", "none", "--rate", "none")
    assert (worked.get_global_concurrency(), worked.get_global_rate_limit()) == (None, None)


@pytest.mark.parametrize("words", [("--rate", "5"), ("--rate", "x/1s"), ("--concurrency", "0"), ("--rate", "5/soon")])
def test_a_limit_that_cannot_be_is_refused(run: Callable, worked: Queue, words: tuple[str, ...]) -> None:
    assert run("limits", worked.name, *words).code == 2


def test_a_queue_is_paused_and_limited_before_its_first_job_if_one_says_that_it_is_new(run, queue_name, queue):
    for command in (["pause", queue_name], ["limits", queue_name, "--concurrency", "4"]):
        refused = run(*command)
        assert refused.code == 1 and refused.err.endswith("If it has no job yet, say --new\n") and not queue.get_meta()
    assert run("pause", queue_name, "--new").code == run("limits", queue_name, "--new", "--concurrency", "4").code == 0
    assert queue.is_paused() and queue.get_global_concurrency() == 4
