"""The programs on the page about web frameworks run: their files as printed, requests, and the commands for jobs.

With Django 6 (`make test-django6`) only that part runs, since its environment has no other frameworks.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from redis import Redis

from bullrush import Queue

Run: TypeAlias = "Callable[..., str]"

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "frameworks.md").read_text()
INTRODUCTION, *_SECTIONS = re.split(r"^## (.+)\n", PAGE, flags=re.MULTILINE)
SECTIONS = dict(zip(_SECTIONS[::2], _SECTIONS[1::2], strict=True))
#: How the programs that the page names are started here.
STARTS = {"python": [sys.executable], "bullrush": [sys.executable, "-m", "bullrush"]}
#: What is other with Django 6 alone, as the comments on the page say.
WITH_6 = {"from django_tasks": "from django.tasks", '"django_tasks",': ""}


def blocks(text: str, language: str) -> list[tuple[str, str]]:
    """Return the blocks of a language: their titles and contents."""
    found: list[tuple[str, str]] = re.findall(
        rf'^```{language}(?: title="([^"\n]+)")?\n(.*?)^```', text, re.DOTALL | re.MULTILINE
    )
    return found


@pytest.fixture
def url(redis_url: str) -> Iterator[str]:
    """Return a database of the server for this test, since the programs choose the names of their queues."""
    url = f"{redis_url.rpartition('/')[0]}/15"
    with Redis.from_url(url) as client:
        client.flushdb()
        yield url
        client.flushdb()


@pytest.fixture
def run(tmp_path: Path, url: str) -> Run:
    """Return a function that runs a program or a command in a directory with the files of the page."""
    for name, code in blocks(PAGE, "py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)
    environment = {**os.environ, "BULLRUSH_URL": url}
    environment.pop("DJANGO_SETTINGS_MODULE", None)

    def run(*command: str) -> str:
        command = (*STARTS.get(command[0], command[:1]), *command[1:])
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)
        assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout.strip()

    return run


def result(url: str, queue_name: str, job_id: str) -> object:
    """Return the result of a job."""
    with Queue(queue_name, url=url) as queue:
        job = queue.get_job(job_id)
        return job and job.returnvalue


def commands(section: str) -> list[list[str]]:
    """Return the commands of a section. Workers end when their queues are empty, and not at a signal."""
    lines = "".join(code for _, code in blocks(section, "sh")).splitlines()
    assert lines != []
    return [[*shlex.split(line), "--burst"] for line in lines]


def test_every_block_of_the_page_is_a_file_or_a_command() -> None:
    languages = re.findall(r"^```(\w+)(.*)$", PAGE, re.MULTILINE)
    assert {name for name, _ in languages} == {"py", "sh", "js", "console"}
    assert all("title=" in title for name, title in languages if name == "py")
    assert len(blocks(PAGE, "py")) == len({title for title, _ in blocks(PAGE, "py")}) > 8


def test_a_program_with_fastapi_adds_jobs_that_the_command_runs(run: Run, url: str) -> None:
    pytest.importorskip("fastapi")
    job = run(
        "python",
        "-c",
        "from fastapi.testclient import TestClient; from app.main import app\n"
        "with TestClient(app) as client:\n"
        "    answer = client.post('/users/7'); assert answer.status_code == 202\n"
        "    job = answer.json()['job']; assert client.get(f'/jobs/{job}').json() == {'state': 'waiting'}\n"
        "    assert client.get('/jobs/none').status_code == 404; print(job)",
    )
    for command in commands(INTRODUCTION):
        run(*command)
    assert result(url, "app", job) == "welcome 7 in de"
    assert "welcome 8" in run(
        "python",
        "-c",
        "from fastapi.testclient import TestClient; from app.one_process import app; from bullrush import Queue\n"
        "with TestClient(app) as client, Queue('app') as queue:\n"
        "    job = client.post('/users/8').json()['job']\n"
        "    print(queue.get_job(job).wait_until_finished(timeout=20_000))",
    )


def test_a_page_with_fastapi_follows_a_job_to_its_end_also_if_it_has_ended(run: Run) -> None:
    pytest.importorskip("fastapi")
    told = run(
        "python",
        "-c",
        "import threading; from fastapi.testclient import TestClient; from bullrush import Worker\n"
        "from app.progress import app; from app.jobs import tasks, welcome\n"
        "with TestClient(app) as client:\n"
        "    job = welcome.enqueue(7)\n"
        "    running = threading.Thread(target=lambda: Worker(tasks).run(max_jobs=1)); running.start()\n"
        "    first = client.get(f'/jobs/{job.id}/changes'); running.join()\n"
        "    assert first.headers['content-type'].startswith('text/event-stream')\n"
        "    print(first.text.split('data: ')[-1].strip())\n"
        "    print(client.get(f'/jobs/{job.id}/changes').text.strip())\n"
        "    assert client.get('/jobs/none/changes').status_code == 404",
    )
    ended = '{"state": "completed", "progress": 0}'
    assert told.splitlines() == [ended, f"data: {ended}"]


def test_a_program_with_flask_adds_jobs_that_the_command_runs(run: Run, url: str) -> None:
    pytest.importorskip("flask")
    jobs = run(
        "python",
        "-c",
        "from app.web import create_app; from app.flask_jobs import greet\n"
        "answer = create_app().test_client().post('/users/7'); assert answer.status_code == 202\n"
        "print(answer.json['job'], greet.enqueue('ann').id)",
    ).split()
    for command in [*commands(INTRODUCTION), *commands(SECTIONS["Flask"])]:
        run(*command)
    assert result(url, "app", jobs[0]) == "welcome 7 in de"
    assert result(url, "flask", jobs[1]) == "hello ann"


def test_a_program_with_sqlalchemy_adds_jobs_only_when_the_session_has_committed(run: Run, url: str) -> None:
    pytest.importorskip("sqlalchemy")
    job = run(
        "python",
        "-c",
        "from functools import partial; from sqlalchemy import create_engine, text\n"
        "from sqlalchemy.orm import Session\n"
        "from app.on_commit import on_commit; from app.users import Base, create\n"
        "engine = create_engine('sqlite://'); Base.metadata.create_all(engine); done = []\n"
        "def say(what): session.execute(text('select 1')); on_commit(session, partial(done.append, what))\n"
        "with Session(engine) as session: job = create(session)\n"
        "with Session(engine) as session:\n"
        "    say('rolled back'); session.rollback()\n"
        "    say('closed'); session.close()\n"
        "    say('1')\n"
        "    with session.begin_nested(): say('2')\n"
        "    lost = session.begin_nested(); say('in a savepoint')\n"
        "    with session.begin_nested(): say('in one inside of it')\n"
        "    lost.rollback(); say('3'); assert done == []\n"
        "    session.commit(); assert done == ['1', '2', '3'], done\n"
        "    session.execute(text('select 1')); session.commit(); assert len(done) == 3; print(job)",
    )
    for command in commands(INTRODUCTION):
        run(*command)
    assert result(url, "app", job) == "welcome 1 in de"


def test_a_project_with_django_adds_tasks_that_the_command_runs(run: Run, url: str, tmp_path: Path) -> None:
    django = pytest.importorskip("django")
    # What `django-admin startproject shop .` writes.
    template = Path(django.__file__).with_name("conf") / "project_template" / "manage.py-tpl"
    (tmp_path / "manage.py").write_text(template.read_text().replace("{{ project_name }}", "shop"))
    for name in ("settings.py", "tasks.py", "urls.py") if django.VERSION >= (6,) else ():
        code = (tmp_path / "shop" / name).read_text()
        for printed, without_package in WITH_6.items():
            code = code.replace(printed, without_package)
        (tmp_path / "shop" / name).write_text(code)
    client = (
        "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'shop.settings'\n"
        "import django; django.setup()\n"
        # No `setup_test_environment`, which allows all hosts: `runserver` does not either.
        "from django.test import Client; client = Client(HTTP_HOST='127.0.0.1:8000')\n"
    )
    asked = run(
        "python",
        "-c",
        f"{client}assert client.post('/users/7').status_code == 202\nprint(client.post('/remind/8').json()['result'])",
    )
    for command in commands(SECTIONS["Django"]):
        run(*command)
    shown = run("python", "-c", f"{client}print([client.get(f'/results/mails:{{n}}').json() for n in (1, 2)])")
    assert run("python", "-c", f"{client}print(client.get('/results/mails:99').status_code)") == "404"
    assert asked == "mails:2"
    assert shown.count("SUCCESSFUL") == 2 and "welcome 7 in de" in shown and "welcome 8 in en" in shown
    with Queue("shop", url=url) as queue:
        assert [scheduler["key"] for scheduler in queue.get_job_schedulers()] == ["digest"]
