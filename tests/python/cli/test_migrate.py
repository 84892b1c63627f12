"""``bullrush migrate``: what it refuses, what it moves, what it prints, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from threading import Event, Thread

import pytest
from redis import Redis

from bullrush import LegacyQueue, Queue
from bullrush.cli.migrate.printing import Heading, print_bridge, use_of
from bullrush.cli.terminal.bar import Bar
from bullrush.legacy import BridgeReport, LegacyClient, LegacyUse
from bullrush.rights import acl_rule, read_roles
from tests.waiting import wait_until

WRONG = {
    "no_target": ([], "say where the jobs go, by --to-name, --to-prefix or --to-url"),
    "two_modes": (["--to-name", "x", "--verify", "--cleanup"], "not allowed with argument"),
    "mirror_without_bridge": (["--to-name", "x", "--mirror"], "--mirror needs --bridge"),
    "history_of_a_bridge": (
        ["--to-name", "x", "--bridge", "--history", 5], "--history does not go together with --bridge"
    ),
    "merge_when_verifying": (["--to-name", "x", "--verify", "--merge"], "--merge does not go together with --verify"),
    "name_when_cleaning": (
        ["--to-name", "x", "--cleanup", "--default-name", "y"], "--default-name does not go together"
    ),
    "no_such_flavor": (["--to-name", "x", "--flavor", "5"], "there is no '5'. There are: 1, 2, 3, 4"),
    "no_such_order": (["--to-name", "x", "--order", "random"], "there is no 'random'"),
    "no_such_zone": (["--to-name", "x", "--tz", "Paris"], "is not the name of a time zone such as"),
    "zone_of_a_bridge": (["--to-name", "x", "--bridge", "--tz", "UTC"], "--bridge: a bridge makes no job schedulers"),
    "no_number": (["--to-name", "x", "--history", "all"], "'all' is no whole number greater than 0"),
    "no_url_of_redis": (["--to-url", "http://x"], "must start with redis://"),
    "a_name_with_a_colon": (["--to-name", "a:b"], "Queue name cannot contain :"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "reason"), WRONG.values(), ids=WRONG)
def test_wrong_usage_is_refused_before_redis_is_asked(words, reason, run, queue_name, redis):
    ended = run("migrate", queue_name, *words)
    assert ended.code == 2 and reason in ended.err
    assert not ended.out and not redis.keys(f"*{queue_name}*")


@pytest.fixture
def bull(queue_name: str, redis_url: str) -> Iterator[LegacyQueue]:
    """Return a queue of Bull 4 with two waiting jobs and a delayed one."""
    with LegacyQueue(queue_name, url=redis_url, flavor="4") as legacy:
        legacy.add("welcome", {"user": 1})
        legacy.add("welcome", {"user": 2})
        legacy.add("digest", {"user": 1}, delay=3_600_000)
        yield legacy


@pytest.fixture
def target(queue_name: str, redis_url: str) -> Iterator[Queue]:
    with Queue(queue_name, url=redis_url, prefix="moved", skip_metas_update=True) as queue:
        yield queue


def hold(redis: Redis, bull: LegacyQueue) -> None:
    """Take the next job as a worker of Bull does."""
    id = redis.lmove(f"bull:{bull.name}:wait", f"bull:{bull.name}:active", "RIGHT", "LEFT")
    redis.set(f"bull:{bull.name}:{id}:lock", "token", px=60_000)


def finish(redis: Redis, bull: LegacyQueue, state: str) -> None:
    """Let a new job end as a worker of Bull does."""
    id = bull.add("welcome", {"user": 9}).id
    redis.lrem(f"bull:{bull.name}:wait", 1, id)
    redis.zadd(f"bull:{bull.name}:{state}", {id: 1_700_000_000_000})


def test_all_jobs_are_moved_and_counted_before_and_after(run, bull, target):
    ended = run("migrate", bull.name, "--to-prefix", "moved")
    assert ended.code == 0, ended.err
    assert ended.err == f"bull:{bull.name} (Bull 3.x or 4.x) -> moved:{bull.name}\n"
    table = [line.split() for line in ended.out.splitlines()]
    assert table[:3] == [
        ["state", "Bull", "before", "after", "BullMQ", "before", "after"],
        ["waiting", "2", "0", "0", "2"],
        ["delayed", "1", "0", "0", "1"],
    ]
    assert ended.out.splitlines()[3].startswith("3 jobs were moved, 0 of them with a new id")
    assert [job.data for job in target.get_waiting()] == [{"user": 1}, {"user": 2}]


def test_the_report_is_json_for_programs(run, bull, target):
    report = run("migrate", bull.name, "--to-prefix", "moved", "--json").json
    assert report["queue"] == bull.name and report["flavor"] == "4"
    assert report["to"] == {"queue": bull.name, "prefix": "moved"}
    assert sum(report["moved"].values()) == 3 and report["complete"] and report["left"] == []
    assert report["target"]["after"]["waiting"] == 2


def test_a_dry_run_writes_nothing(run, bull, redis):
    before = sorted(redis.keys(f"*:{bull.name}:*"))
    ended = run("migrate", bull.name, "--to-prefix", "moved", "--dry-run")
    assert ended.code == 0 and "3 jobs would be moved" in ended.out
    assert sorted(redis.keys(f"*:{bull.name}:*")) == before


def test_schedulers_without_a_time_zone_are_named_and_get_the_one_that_is_given(run, bull, target):
    bull.add("digest", repeat={"pattern": "0 7 * * *"})
    (key,) = (one.key for one in bull.get_repeatables())
    note = f"special: 1 in repeat ({key}): its cron pattern has no time zone"
    rehearsed = run("migrate", bull.name, "--to-prefix", "moved", "--dry-run")
    assert note in rehearsed.out and "--tz ZONE gives it one" in rehearsed.out
    words = ("--to-prefix", "moved", "--tz", "Europe/Paris")
    assert note not in run("migrate", bull.name, *words, "--dry-run").out
    assert note not in run("migrate", bull.name, *words).out
    assert [one["tz"] for one in target.get_job_schedulers()] == ["Europe/Paris"]


def test_a_scheduler_keeps_its_zone_when_its_repeatable_is_added_again(run, bull, target):
    def again(*words: str) -> tuple[str, str]:
        bull.add("digest", repeat={"pattern": "0 7 * * *"})
        command = ("migrate", bull.name, "--to-prefix", "moved", *words)
        return run(*command, "--dry-run").out, run(*command).out

    assert all("has no time zone" in out for out in again())
    assert all("zone" not in out for out in again("--tz", "Europe/Paris"))
    assert all("zone" not in out for out in again())
    assert [one["tz"] for one in target.get_job_schedulers()] == ["Europe/Paris"]


def test_the_program_of_the_page_gives_schedulers_that_have_moved_a_zone(run, bull, target, redis_url):
    bull.add("digest", {"n": 1}, repeat={"pattern": "0 7 * * *", "limit": 5}, attempts=3)
    run("migrate", bull.name, "--to-prefix", "moved")
    page = (Path(__file__).parents[3] / "docs" / "legacy-bull.md").read_text()
    program = page.partition("their template again, under the same id:\n\n```python\n")[2].partition("```")[0]
    for word, ours in (('"mails"', repr(bull.name)), ("embedded://", redis_url), ('"bullmq"', '"moved"')):
        assert word in program
        program = program.replace(word, ours)
    (before,) = target.get_job_schedulers()
    exec(program, {})
    (after,) = target.get_job_schedulers()
    assert (after["key"], after["name"], after["tz"]) == (before["key"], "digest", "Europe/Paris")
    assert (after["template"]["data"], after["template"]["opts"]["attempts"], after["limit"]) == ({"n": 1}, 3, 5)
    (pending,) = (job for job in target.get_delayed() if job.repeat_job_key)
    assert pending.opts["repeat"]["tz"] == "Europe/Paris" and pending.data == {"n": 1}


def test_a_dry_run_counts_jobs_whose_back_off_is_longer_than_that_of_a_worker(run, bull):
    bull.add("slow", attempts=2, backoff={"type": "fixed", "delay": 7_200_000})
    bull.add("slow", attempts=13, backoff={"type": "exponential", "delay": 1_800})
    bull.add("quick", attempts=12, backoff={"type": "exponential", "delay": 1_800})
    bull.add("once", attempts=1, backoff={"type": "fixed", "delay": 7_200_000})
    ended = run("migrate", bull.name, "--to-prefix", "moved", "--dry-run")
    assert "2 jobs: a back-off would be longer than an hour" in ended.out


def test_who_waits_for_locks_of_dead_workers_is_told_so_and_one_who_does_not_hears_of_the_option(run, bull, redis):
    hold(redis, bull)
    left = run("migrate", bull.name, "--to-prefix", "moved").out
    assert "if that worker has died and all others are stopped, with --legacy-workers-stopped" in left
    command = [sys.executable, "-m", "bullrush", "migrate", bull.name, "--to-prefix", "moved"]
    words = [*command, "--legacy-workers-stopped"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as waiting:
        assert waiting.stderr is not None
        assert "1 job in active: waiting until" in waiting.stderr.readline()
        waiting.kill()


def test_a_job_that_is_left_has_its_reason_and_the_exit_code_1(run, bull, redis):
    hold(redis, bull)
    ended = run("migrate", bull.name, "--to-prefix", "moved")
    assert ended.code == 1 and "left: 1 in active (1): " in ended.out
    ended = run("migrate", bull.name, "--to-prefix", "moved", "--verify")
    assert ended.code == 1 and "left: 1 in active (1): " in ended.out
    before = sorted(redis.keys(f"bull:{bull.name}:*"))
    assert run("migrate", bull.name, "--to-prefix", "moved", "--cleanup").code == 3
    assert sorted(redis.keys(f"bull:{bull.name}:*")) == before


def test_a_queue_that_was_moved_is_cleaned_up(run, bull, redis):
    assert run("migrate", bull.name, "--to-prefix", "moved").code == 0
    ended = run("migrate", bull.name, "--to-prefix", "moved", "--verify")
    assert ended.code == 0 and "Nothing is left that still has to run." in ended.out
    again = run("migrate", bull.name, "--to-prefix", "moved", "--json")
    assert (again.code, again.json["moved"], again.json["flavor"]) == (0, {}, None)
    ended = run("migrate", bull.name, "--to-prefix", "moved", "--cleanup", "--yes")
    assert ended.code == 0 and f"of bull:{bull.name} deleted" in ended.out
    assert redis.keys(f"bull:{bull.name}:*") == [f"bull:{bull.name}:ext:moved"]


def test_a_queue_that_was_moved_says_where_to_until_it_is_forgotten(run, bull, redis):
    run("migrate", bull.name, "--to-prefix", "moved")
    run("migrate", bull.name, "--to-prefix", "moved", "--cleanup", "--yes")
    refused = run("add", bull.name, "welcome", "{}")
    assert refused.code == 3 and f'have moved to moved:{bull.name}: use prefix "moved"' in refused.err
    assert f'"bullrush migrate {bull.name} --forget" frees its name' in refused.err
    as_target = run("migrate", bull.name, "--prefix", "other", "--flavor", 4, "--to-prefix", "bull")
    assert as_target.code == 3 and f"the target bull:{bull.name} is refused, it is a queue of Bull" in as_target.err
    forgotten = run("migrate", bull.name, "--forget")
    assert forgotten.code == 0 and "New queues may have its name." in forgotten.out
    assert f"says no more that its jobs have moved to moved:{bull.name};" in forgotten.out
    assert redis.keys(f"bull:{bull.name}:*") == [] and run("add", bull.name, "welcome", "{}").code == 0
    assert run("migrate", bull.name, "--forget", "--json").json == {"queue": bull.name, "forgotten": False}


def test_a_queue_that_never_was_is_not_verified(run, queue_name):
    refused = run("migrate", queue_name, "--to-prefix", "moved", "--verify")
    assert refused.code == 3 and f"there is no queue bull:{queue_name} at " in refused.err


def test_a_target_with_jobs_needs_merge(run, bull, target):
    target.add("old")
    refused = run("migrate", bull.name, "--to-prefix", "moved")
    assert refused.code == 3 and "say --merge " in refused.err and target.get_waiting_count() == 1
    rehearsed = run("migrate", bull.name, "--to-prefix", "moved", "--merge", "--dry-run")
    assert "3 jobs would be moved, 3 of them with a new id" in rehearsed.out
    report = run("migrate", bull.name, "--to-prefix", "moved", "--merge", "--json").json
    assert report["renamed"] == 3 and {job.id for job in target.get_waiting()} == {"1", "l-1", "l-2"}


def test_jobs_that_came_after_the_cleanup_are_moved_by_the_next_run(run, bull, target):
    words = ("migrate", bull.name, "--to-prefix", "moved")
    run(*words)
    run(*words, "--cleanup", "--yes")
    bull.add("late", {"user": 3})
    found = run(*words, "--verify")
    assert found.code == 1 and "left: 1 in waiting (1): not moved yet: run the migration again" in found.out
    assert "1 job would be moved" in run(*words, "--dry-run").out
    ended = run(*words)
    assert ended.code == 0 and "1 job was moved, 1 of them with a new id" in ended.out
    assert run(*words, "--verify").code == 0 and target.get_waiting_count() == 3


def test_a_repeatable_that_has_ended_does_not_begin_anew(run, bull, target, redis):
    ended = "digest::::0 7 * * *"
    redis.zadd(f"bull:{bull.name}:repeat", {ended: 1_700_000_000_000})
    moved = run("migrate", bull.name, "--to-prefix", "moved")
    assert moved.code == 1 and "it has no next job: it has reached its limit or its end" in moved.out
    assert target.get_job_schedulers() == []
    assert bull.remove_repeatable(ended)
    assert run("migrate", bull.name, "--to-prefix", "moved").code == 0


@pytest.mark.parametrize("mode", ["--dry-run", "--verify", "--cleanup", "--bridge", None])
def test_a_queue_that_has_moved_does_not_move_to_another_one_by_a_slip(run, bull, target, mode):
    run("migrate", bull.name, "--to-prefix", "moved")
    late = bull.add("late")
    refused = run("migrate", bull.name, "--to-prefix", "movde", *([mode] if mode else []), "--yes")
    assert refused.code == 3 and "have moved to moved:" in refused.err
    assert bull.get_job(late.id) is not None


def test_a_new_queue_that_was_resumed_is_not_paused_again(run, bull, target, redis):
    redis.set(f"bull:{bull.name}:meta-paused", 1)
    run("migrate", bull.name, "--to-prefix", "moved")
    assert target.is_paused()
    target.resume()
    run("migrate", bull.name, "--to-prefix", "moved")
    assert not target.is_paused()


@pytest.mark.parametrize("mode", ["--dry-run", "--verify", None])
def test_a_job_whose_id_is_taken_says_by_which_commands_one_of_them_is_removed(mode, run, bull, target, redis_url):
    words = ("migrate", bull.name, "--to-prefix", "moved")
    run(*words)
    bull.add("welcome", job_id="ada")
    target.add("welcome", job_id="ada")
    ended = run(*words, *([mode] if mode else []))
    here, there = f"bullrush migrate {bull.name} --remove ada", f"bullrush jobs remove {bull.name} ada"
    assert ended.code == 1 and "left: 1 in waiting (ada): the other queue has a job with this id" in ended.out
    assert f"by `{there} --prefix moved` or by `{here} --prefix bull`" in ended.out
    command = here.split()[1:]
    refused = run(*command)
    assert refused.code == 2 and "Remove the job ada 'welcome' from bull:" in refused.err
    assert run(*command, "--yes", "--json").json == {"queue": bull.name, "removed": ["ada"]}
    assert run(*words, "--verify").code == 0 and run(*command, "--yes").code == 1


def test_a_number_that_is_taken_is_removed_from_the_new_queue_under_its_id_there(run, bull, target):
    words = ("migrate", bull.name, "--to-prefix", "moved")
    target.add("own", job_id="l-1")
    ended = run(*words, "--merge")
    command = f"bullrush jobs remove {bull.name} l-1 --prefix moved"
    assert ended.code == 1 and f"by `{command}` or by" in ended.out
    assert run(*command.split()[1:], "--yes").code == 0
    assert run(*words).code == 0 and target.get_job("l-1").name == "welcome"


def test_an_id_whose_key_is_no_job_is_removed_by_the_command_that_the_move_names(run, bull, redis):
    key = f"bull:{bull.name}:9"
    redis.set(key, "x")
    redis.rpush(f"bull:{bull.name}:wait", "9")
    command = f"bullrush migrate {bull.name} --remove 9 --prefix bull"
    moved = run("migrate", bull.name, "--to-prefix", "moved")
    assert moved.code == 1 and f"its key is a string and no job: remove the id by `{command}`, or the key" in moved.out
    words = command.split()[1:]
    refused, stays = run(*words), f"its key {key}, a string and no job, stays"
    assert refused.code == 2 and f"Remove the id 9 from bull:{bull.name}? ({stays})" in refused.err
    assert run(*words, "--yes").out == f"Job 9 of bull:{bull.name} is gone; {stays}.\n"
    assert redis.get(key) == "x" and run("migrate", bull.name, "--to-prefix", "moved").code == 0
    again = run(*words, "--yes")
    assert again.code == 1 and "job 9 was not removed: no list of jobs has it" in again.err


def test_ids_without_a_job_are_foreseen(run, bull, redis):
    redis.rpush(f"bull:{bull.name}:wait", "", "77")
    ids = "2 in waiting ('', 77): there is no job under this id: a move removes the id"
    rehearsed = run("migrate", bull.name, "--to-prefix", "moved", "--dry-run")
    assert rehearsed.code == 0 and "3 jobs would be moved" in rehearsed.out and f"special: {ids}" in rehearsed.out
    assert f"left: {ids}" in run("migrate", bull.name, "--to-prefix", "moved", "--verify").out
    assert "3 jobs were moved" in run("migrate", bull.name, "--to-prefix", "moved").out


def test_a_job_that_a_worker_of_bull_runs_is_not_removed(run, bull, redis):
    hold(redis, bull)
    refused = run("migrate", bull.name, "--remove", "1", "--yes")
    assert refused.code == 1 and "a worker of Bull runs it" in refused.err and bull.get_job("1") is not None


def test_a_signpost_is_not_forgotten_while_jobs_of_bull_wait_unless_somebody_says_yes(run, bull, redis, redis_url):
    run("migrate", bull.name, "--to-prefix", "moved", "--to-name", "post")
    bull.add("late")
    bull.add("late")
    refused = run("migrate", bull.name, "--forget")
    command = f"bullrush migrate {bull.name} --to-prefix moved --to-name post --from {redis_url}"
    assert refused.code == 2 and f"2 jobs or repeatables wait in bull:{bull.name}" in refused.err
    assert f"by `{command}`. Forget that jobs have moved to moved:post?" in refused.err
    assert redis.exists(f"bull:{bull.name}:ext:moved")
    forgotten = run("migrate", bull.name, "--forget", "--yes")
    assert forgotten.code == 0 and "Programs with Bull go on to use it." in forgotten.out
    assert "The next `bullrush migrate` may go to any queue: with --merge, if" in forgotten.out
    assert not redis.exists(f"bull:{bull.name}:ext:moved")


def test_claimed_jobs_are_given_back_and_not_forgotten(run, bull, redis, redis_url):
    to = ("--to-prefix", "moved", "--to-url", f"{redis_url.rpartition('/')[0]}/1")
    run("migrate", bull.name, *to)
    ids = [bull.add("late").id for _ in range(2)]
    bull.core.legacy_calls("claim_job", [["wait", id, f"1-{id}-run", 30_000] for id in ids]).wait()
    refused = run("migrate", bull.name, "--forget", "--yes")
    assert refused.code == 3 and "2 jobs of queue" in refused.err and "and run nowhere: finish it by `" in refused.err
    assert refused.err.endswith(", or give them back, by --give-back\n")
    found = run("migrate", bull.name, *to, "--verify")
    assert "run again, or give it back to Bull by --give-back" in found.out
    wrong = run("migrate", bull.name, "--to-prefix", "moved", "--give-back")
    assert wrong.code == 3 and wrong.err.endswith(", or give them back by --give-back\n")
    given = run("migrate", bull.name, *to, "--give-back")
    assert given.code == 0 and given.out == "2 jobs were given back to Bull: 2 waiting.\n"
    assert [job.id for job in bull.get_jobs("waiting")] == ids
    again = run("migrate", bull.name, *to, "--give-back", "--json").json
    assert (again["returned"], again["arrived"]) == ({}, 0)
    said = run("migrate", bull.name, *to, "--give-back").out
    assert "No job is claimed, and only such jobs are given back" in said and '"Going back"' in said


def test_a_reader_may_rehearse_and_hears_which_rule_a_move_needs(run, bull, redis, redis_url):
    role = read_roles()["reader"]
    places = {"prefixes": ["bull", "moved"], "queues": [bull.name]}
    redis.execute_command(*acl_rule(role.needed, user=bull.name, password="x", **places).split())
    words = ("migrate", bull.name, "--to-prefix", "moved", "--url", redis_url.replace("//", f"//{bull.name}:x@"))
    try:
        assert "3 jobs would be moved" in run(*words, "--dry-run").out
        refused = run(*words)
    finally:
        redis.acl_deluser(bull.name)
    assert refused.code == 3 and "NOPERM" in refused.err
    assert "`bullrush acl admin --prefix bull --prefix moved` prints the rule of a user who may" in refused.err
    assert bull.get_job_counts("waiting") == {"waiting": 2}


def test_info_lists_queues_of_bull(run, bull, redis):
    def shown() -> tuple[list[str], list[str | None]]:
        lines = [line for line in run("info").out.splitlines() if line.startswith(bull.name)]
        found = [info["legacy"] for info in run("info", "--json").json if info["queue"] == bull.name]
        return [" ".join(line.removeprefix(bull.name).split()) for line in lines], found

    [line], legacy = shown()
    assert line.startswith("(Bull) 2 0 1") and legacy == ["bull"]
    run("migrate", bull.name, "--to-prefix", "moved")
    assert shown() == ([], [])
    for _ in range(3):
        bull.add("late")
    [line], legacy = shown()
    assert line.startswith("(moved, 3 jobs wait) 3 0") and legacy == ["moved"]


def test_info_of_a_queue_that_has_moved_says_where_to_and_when(run, bull, redis_url):
    post = f"{bull.name}-post"
    before = int(time.time() * 1000)
    run("migrate", bull.name, "--to-prefix", "moved", "--to-name", post)
    [said] = [
        line for line in run("info", bull.name).err.splitlines() if line.startswith(f"{bull.name}: moved to {post}")
    ]
    assert f"with the prefix moved, {datetime.now().astimezone():%Y-}" in said
    show, verify = re.findall("`bullrush (.*?)`", said)
    assert run(*show.split(), "--json").json[0]["counts"]["waiting"] == 2
    assert run(*verify.split()).code == 0
    listed = run("info", bull.name, "--json")
    assert before <= (began := listed.json[0]["moved_at"]) and f"moved to {post}" not in listed.err
    run("migrate", bull.name, "--to-prefix", "moved", "--to-name", post)
    assert run("info", bull.name, "--json").json[0]["moved_at"] == began


READS = {
    "counts": (["counts"], "get_job_counts()"),
    "list": (["jobs", "list"], "get_jobs()"),
    "show": (["jobs", "show"], "get_job(), get_job_state()"),
    "retry": (["jobs", "retry"], "retry()"),
    "remove": (["jobs", "remove"], "remove()"),
    "why": (["why"], "get_job(), get_job_state()"),
    "failures": (["failures"], "get_jobs()"),
    "schedulers": (["schedulers"], "get_repeatables(), remove_repeatable()"),
    "pause": (["pause"], "get_jobs(), get_job(), get_job_state(), get_job_logs()"),
}


@pytest.mark.parametrize(("command", "calls"), READS.values(), ids=READS)
def test_a_command_about_a_queue_of_bull_says_what_takes_it_as_it_is(command, calls, run, bull, redis, redis_url):
    before = {key: redis.dump(key) for key in redis.keys(f"bull:{bull.name}:*")}
    ids = ["1"] if command[-1] in ("show", "retry", "remove", "why") else []
    refused = run(*command, bull.name, *ids)
    assert refused.code == 3 and f"bull:{bull.name} is a queue of Bull, BullMQ's predecessor" in refused.err
    assert f"bullrush.LegacyQueue has {calls}. " in refused.err and "would be lost" not in refused.err
    assert {key: redis.dump(key) for key in redis.keys(f"bull:{bull.name}:*")} == before
    named = re.findall("`bullrush (.*?)`", refused.err)
    assert [words.split()[0] for words in named] == ["info", *["migrate"] * (1 + (command[-1] == "remove"))]
    for words in (named[0], named[-1]):
        assert run(*words.split()).code == 0, words
    run(*named[-1].replace("--dry-run", "").split())
    assert run(*command, bull.name, *ids, "--prefix", "bullmq").code != 3
    assert all(callable(getattr(bull, call)) for call in re.findall(r"(\w+)\(\)", calls))


def test_a_queue_of_both_and_one_of_neither_are_refused(run, bull, redis):
    redis.xadd(f"bull:{bull.name}:events", {"event": "added"})
    redis.set(f"bull:{bull.name}:meta-paused", "1")
    refused = run("migrate", bull.name, "--to-prefix", "moved")
    assert refused.code == 3 and "both" in refused.err


def test_a_queue_that_does_not_exist_is_said_not_to_exist(run, queue_name, redis_url):
    host = redis_url.split("//")[1].rpartition("/")[0]
    refused = run("migrate", f"no-{queue_name}", "--to-prefix", "moved")
    assert refused.code == 3 and f"there is no queue bull:no-{queue_name} at {host}: are the name" in refused.err
    assert refused.err.endswith("say which Bull it is: --flavor 4\n")


def test_a_wrong_flavor_is_named_as_the_option(run, bull, redis):
    finish(redis, bull, "completed")
    refused = run("migrate", bull.name, "--to-prefix", "moved", "--flavor", "1")
    assert refused.code == 3 and "So --flavor 1 is wrong" in refused.err


def test_a_queue_of_bullmq_is_nothing_to_move(run, target):
    target.add("old")
    refused = run("migrate", target.name, "--prefix", "moved", "--to-prefix", "bullmq")
    assert refused.code == 3 and refused.err.endswith("there is nothing to move\n")


def test_another_queue_of_bull_is_refused_as_the_target(run, bull, redis):
    redis.set(f"moved:{bull.name}:meta-paused", "1")
    refused = run("migrate", bull.name, "--to-prefix", "moved")
    assert refused.code == 3 and f"the target moved:{bull.name} is refused: it belongs to Bull" in refused.err
    assert refused.err.endswith("Give another --to-prefix or --to-name\n")


def test_finished_jobs_that_stay_are_reported(run, bull, redis):
    finish(redis, bull, "completed")
    finish(redis, bull, "failed")
    note = "1 completed and 1 failed jobs stay: --history N moves the newest N of each, --cleanup deletes them."
    for mode in (["--dry-run"], []):
        ended = run("migrate", bull.name, "--to-prefix", "moved", *mode)
        assert ended.code == 0 and note in ended.out
    ended = run("migrate", bull.name, "--to-prefix", "moved", "--history", "1", "--dry-run")
    assert ended.code == 0 and " stay" not in ended.out


def test_finished_jobs_are_deleted_only_after_a_question(run, terminal, bull, redis):
    finish(redis, bull, "failed")
    words = ("migrate", bull.name, "--to-prefix", "moved", "--cleanup")
    assert run("migrate", bull.name, "--to-prefix", "moved").code == 0
    question = f"Delete the keys of bull:{bull.name}, with 1 failed job?"
    refused = run(*words)
    assert refused.code == 2 and f"{question} Nobody can be asked here: --yes is needed" in refused.err
    asked = terminal(*words)
    asked.sees(f"{question} [y/N]")
    asked.sendline("n")
    assert asked.ended()[0] == 1 and redis.zcard(f"bull:{bull.name}:failed") == 1
    assert run(*words, "--yes").code == 0 and redis.keys(f"bull:{bull.name}:*") == [f"bull:{bull.name}:ext:moved"]


def at_job(monkeypatch, number, act):
    """Do something when so many jobs have moved."""
    monkeypatch.setattr(Bar, "show", lambda _bar, done, _total: act() if done == number else None)


@pytest.mark.parametrize("as_json", [False, True])
def test_jobs_that_came_meanwhile_are_reported_and_the_exit_code_is_1(as_json, run, bull, redis, monkeypatch):
    finish(redis, bull, "completed")
    # The finished job moves last: nothing looks at the waiting ones any more.
    at_job(monkeypatch, 4, lambda: redis.rpush(f"bull:{bull.name}:wait", "8", "9"))
    words = ("migrate", bull.name, "--to-prefix", "moved", "--history", "1")
    ended = run(*words, *(["--json"] if as_json else []))
    assert ended.code == 1
    if as_json:
        report = json.loads(ended.out)
        assert (report["came"], report["complete"], report["left"]) == (2, False, [])
    else:
        assert "2 jobs came meanwhile: run it again, or use --bridge." in ended.out


def test_ctrl_c_tells_how_far_the_move_was(run, bull, monkeypatch):
    at_job(monkeypatch, 2, lambda: signal.raise_signal(signal.SIGINT))
    ended = run("migrate", bull.name, "--to-prefix", "moved")
    assert ended.code == 130 and "stopped: 2 jobs moved so far; run it again for the rest" in ended.err


def test_a_paused_queue_says_how_the_new_one_is_resumed(run, bull, target, redis):
    redis.rename(f"bull:{bull.name}:wait", f"bull:{bull.name}:paused")
    redis.set(f"bull:{bull.name}:meta-paused", "1")
    ended = run("migrate", bull.name, "--to-prefix", "moved")
    command = f"bullrush resume {bull.name} --prefix moved"
    assert ended.code == 0 and f"The new queue is paused: {command}\n" in ended.out and target.is_paused()
    assert run(*command.split()[1:]).code == 0 and not target.is_paused()


def test_two_places_are_both_in_the_heading(run, bull, redis_url):
    base = redis_url.rpartition("/")[0]
    host = base.split("//")[1]
    ended = run("migrate", bull.name, "--to-url", f"{base}/1", "--dry-run")
    assert ended.err == f"bull:{bull.name} at {host}/0 (Bull 3.x or 4.x) -> bull:{bull.name} at {host}/1\n"


def test_claimed_jobs_and_a_cut_list_are_reported_in_words(run, bull, redis):
    redis.hset(f"bull:{bull.name}:ext:claim", "7", "{}")
    redis.rpush(f"bull:{bull.name}:wait", *range(10, 1_010))
    ended = run("migrate", bull.name, "--to-prefix", "moved", "--verify")
    assert ended.code == 1 and "left: at least 998 in waiting (" in ended.out
    assert "left: 1 claimed by a migrator (7): " in ended.out


def test_a_lock_that_is_renewed_although_all_workers_are_said_to_be_stopped_is_refused(run, bull, target, redis):
    hold(redis, bull)
    ended = Event()

    def renew() -> None:
        while not ended.wait(0.05):
            redis.set(f"bull:{bull.name}:1:lock", "token", px=60_000)

    worker = Thread(target=renew)
    worker.start()
    try:
        refused = run("migrate", bull.name, "--to-prefix", "moved", "--legacy-workers-stopped")
    finally:
        ended.set()
        worker.join()
    assert refused.code == 3 and "a worker of Bull still runs" in refused.err
    assert not any(target.get_job_counts().values())


def test_the_queue_itself_is_no_target(run, bull, redis_url):
    refused = run("migrate", bull.name, "--to-url", redis_url)
    assert (
        refused.code == 2 and "the new queue is the same queue: give --to-prefix, --to-name or another" in refused.err
    )
    assert bull.get_job_counts("waiting") == {"waiting": 2}


def test_a_password_is_not_shown(run, bull, monkeypatch):
    monkeypatch.setenv("BULLRUSH_TO_URL", "redis://:secret@127.0.0.1:1/0")
    refused = run("migrate", bull.name, "--timeout", "100ms")
    assert refused.code == 3 and "127.0.0.1:1" in refused.err and "secret" not in refused.err


def test_a_terminal_shows_how_far_it_is(terminal, bull):
    shown = terminal("migrate", bull.name, "--to-prefix", "moved")
    shown.sees("moved")
    code, screen = shown.ended()
    assert code == 0 and "3 jobs were moved" in screen


def test_without_rich_the_bar_is_plain_text(terminal, bull):
    program = ("-c", "import sys; sys.modules['rich'] = None; from bullrush.cli import main; sys.exit(main())")
    code, screen = terminal("migrate", bull.name, "--to-prefix", "moved", program=program).ended()
    assert code == 0 and "moved 3/3\n" in screen and "3 jobs were moved" in screen


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_bridge_carries_jobs_over_until_a_signal_comes(number, bull, target):
    words = [sys.executable, "-m", "bullrush", "migrate", bull.name, "--to-prefix", "moved", "--bridge", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bridge:
        wait_until(lambda: target.get_waiting_count() == 2, "the bridge has carried two jobs over")
        bull.add("welcome", {"user": 3})
        wait_until(lambda: target.get_waiting_count() == 3, "the bridge has carried a third one over")
        bridge.send_signal(number)
        out, said = bridge.communicate(timeout=20)
    assert bridge.returncode == 0 and "Do not clean up yet: " in said
    report = json.loads(out)
    assert report["moved"]["waiting"] == 3
    use = {"clients": [], "left": 0, "owes": False, "quiet": False, "paused": False, "safe_to_clean_up": False}
    assert report["use"] == use


LISTENER, WORKER = LegacyClient("", "listener"), LegacyClient("10.0.0.7:51234", "worker")
USES = {
    "safe": (LegacyUse((), quiet=True), "Cleaning up is safe: no program with Bull is seen"),
    "programs": (LegacyUse((WORKER, LISTENER), quiet=True), "10.0.0.7:51234 (worker), unknown address (listener)."),
    "many_programs": (LegacyUse((WORKER,) * 7, quiet=True), "10.0.0.7:51234 (worker) and 2 more."),
    "refused": (LegacyUse(None, quiet=True), "Redis does not say which programs with Bull are connected"),
    "jobs": (LegacyUse((), left=2, quiet=True), "Do not clean up yet: 2 jobs or repeatables are left."),
    "outcomes": (LegacyUse((), owes=True, quiet=True), "Do not clean up yet: callers wait for outcomes."),
    "paused": (LegacyUse((), left=2, paused=True), "is paused: nothing moves until it is resumed; 2 jobs or"),
    "not_quiet": (LegacyUse(()), "Do not clean up yet: it is not a minute yet that no job has come."),
}


@pytest.mark.parametrize(("use", "line"), USES.values(), ids=USES)
def test_a_bridge_says_why_cleaning_up_is_not_safe_yet(use, line):
    assert line in use_of(use)
    assert use.safe_to_clean_up == ("is safe" in use_of(use))


def test_a_bridge_that_ends_names_the_command_that_says_what_is_left(run, bull, target, redis_url, capsys):
    run("migrate", bull.name, "--to-prefix", "moved")
    late = bull.add("welcome", job_id="late")
    heading = Heading(bull, target, redis_url, redis_url)
    print_bridge(heading, BridgeReport(use=LegacyUse((), left=1)), as_json=False)
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith("Which, and why: bullrush migrate ")
    found = run(*said.partition("bullrush ")[2].split())
    assert found.code == 1 and f"left: 1 in waiting ({late.id}): not moved yet" in found.out


@pytest.mark.parametrize("mirror", [[], ["--mirror"]], ids=["plain", "mirror"])
def test_a_bridge_that_is_refused_does_not_say_that_it_runs(mirror, run, bull, target):
    target.add("own")
    refused = run("migrate", bull.name, "--to-prefix", "moved", "--bridge", *mirror)
    assert refused.code == 3 and "has jobs: take an empty one, or say --merge" in refused.err
    assert "until Ctrl-C" not in refused.err
    run("migrate", bull.name, "--to-prefix", "moved", "--merge")
    bull.add("late")
    elsewhere = run("migrate", bull.name, "--to-prefix", "other", "--bridge", *mirror)
    assert elsewhere.code == 3 and "have moved to moved:" in elsewhere.err and "until Ctrl-C" not in elsewhere.err


def test_a_bridge_that_cannot_mirror_does_not_say_that_it_runs(run, queue_name):
    refused = run("migrate", queue_name, "--to-prefix", "moved", "--bridge", "--mirror")
    assert refused.code == 3 and "say which Bull it is: --flavor 4" in refused.err and "until Ctrl-C" not in refused.err
