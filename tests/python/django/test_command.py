"""``manage.py bullrush_worker`` runs the tasks of the settings, as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MANAGE = """
import os, sys
from django.core.management import execute_from_command_line
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.python.django.shop.settings")
sys.path.insert(0, sys.argv.pop(1))
execute_from_command_line(["manage.py", *sys.argv[1:]])
"""


@pytest.fixture
def manage(redis_url, prefix, tmp_path):
    """Return a function that runs a command of ``manage.py`` in another directory than that of the project."""
    environment = {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    environment |= {"BULLRUSH_URL": redis_url, "SHOP_PREFIX": prefix, "SHOP_DIRECTORY": str(tmp_path)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", MANAGE, str(ROOT), *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100)

    return run


def test_the_command_runs_all_queues_in_several_processes(shop, manage):
    results = [shop.welcome.enqueue(7), shop.deliver.enqueue("ann")]
    ran = manage("bullrush_worker", "-p", "2", "-c", "3", "--burst")
    assert ran.returncode == 0, ran.stderr
    for result in results:
        result.refresh()
    assert [result.status for result in results] == ["SUCCESSFUL", "SUCCESSFUL"], ran.stderr


def test_the_command_says_what_it_would_run(manage):
    ran = manage("bullrush_worker", "--check", "-Q", "mails=4")
    assert ran.returncode == 0, ran.stderr
    assert "mails" in ran.stdout and "concurrency 4" in ran.stdout and "default" not in ran.stdout


def test_the_command_ends_with_the_exit_code_of_the_worker_command(manage):
    ran = manage("bullrush_worker", "-Q", "rare")
    assert ran.returncode == 2 and "no target has the queue 'rare'; there are: default, mails" in ran.stderr
