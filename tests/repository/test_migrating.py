"""The page about other queues: the commands that it names work on its programs, and what others write is Python.

Its programs run in tests/repository/test_docs.py.
"""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis

from bullrush import Queue

PAGE = (Path(__file__).parents[2] / "docs" / "migrating.md").read_text()
BEFORE = re.findall(r"^```py\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = list(dict.fromkeys(re.findall(r"`(bullrush [a-z].*?)`", PAGE)))
INFO, RETRY, DRAIN = "bullrush info", "bullrush jobs retry mail --all", "bullrush drain mail"
#: It runs until Ctrl-C, and has tests of its own.
DASHBOARD = "bullrush dashboard"


@pytest.mark.parametrize("code", BEFORE, ids=lambda code: re.findall("# (.+)", code)[0])
def test_what_others_write_is_python(code: str) -> None:
    compile(code, "before", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_every_queue_has_code_before_and_after() -> None:
    assert len(BEFORE) == len(PROGRAMS) == len(re.findall("^## ", PAGE, re.MULTILINE)) == 4


def test_the_commands_of_the_page_work_on_its_first_program(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{redis_url.rpartition('/')[0]}/15"
    monkeypatch.setenv("BULLRUSH_URL", url)
    monkeypatch.chdir(tmp_path)
    tasks, calls, _ = PROGRAMS[0].partition("\n\n\nsend.")
    assert calls
    (tmp_path / "app.py").write_text(tasks)

    def run(command: str, *further: str) -> str:
        words = [sys.executable, "-m", *shlex.split(command), *further]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=100)
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"
        return ran.stdout

    with Redis.from_url(url) as client, Queue("mail", url=url) as queue:
        client.flushdb()
        good, failing = queue.add("mail.send", {"user_id": 7}), queue.add("mail.send", {"user": 7})
        others = {command for command in COMMANDS if not command.startswith("bullrush worker")}
        assert others == {INFO, RETRY, DRAIN, DASHBOARD}
        for command in COMMANDS:
            if "worker" in command:
                run(command, *([] if "--burst" in command else ["--burst"]))
        assert [queue.get_job(job.id).get_state() for job in (good, failing)] == ["completed", "failed"]
        run(RETRY, "--yes")
        assert queue.get_job(failing.id).get_state() == "waiting"
        assert "mail" in run(INFO)
        run(DRAIN, "--yes")
        assert queue.get_waiting_count() == 0
        client.flushdb()
