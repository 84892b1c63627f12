"""Type checkers accept a user's program, and see what is wrong with another one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
PROGRAMS = [Path(__file__).with_name(name) for name in ("user_program.py", "user_tasks.py")]
FAULTY_TASKS = Path(__file__).with_name("faulty_tasks.py")
FAULTS = """
import bullrush
from bullrush import aio

bullrush.Queue("video").add("render", {}, atempts=3)
bullrush.Queue("video", urll="redis://")
bullrush.Worker("video", 7)
bullrush.Worker("video", lambda job: job.data, concurrency="8")
name: int = bullrush.Queue("video").add("render").name
name = bullrush.Queue("video").get_job("7").priority
async def forgets_to_await(queue: aio.Queue) -> str:
    return queue.add("render").id
def wrong_data(job: bullrush.Job[dict[str, int], str]) -> str:
    return job.data["id"]
"""
#: The lines of `FAULTS` that a checker has to name.
FAULTY = {5, 6, 7, 8, 9, 10, 12, 14}

checkers = pytest.mark.parametrize("checker", ["mypy", "pyright"])
pytestmark = pytest.mark.timeout(300)


def check(checker: str, program: Path) -> str:
    """Return what a checker says about a program; empty if it accepts it."""
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed: pip install --group lint")
    strict = {"mypy": ["--strict", "--no-error-summary"], "pyright": ["--pythonpath", sys.executable]}
    command = [sys.executable, "-m", checker, *strict[checker], str(program)]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "python"), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def named_lines(said: str, program: Path) -> set[int]:
    """Return the lines of a program in which a checker found an error."""
    here = f"{program.name}:"
    lines = [line for line in said.splitlines() if "error" in line and here in line]
    return {int(line.split(here)[1].split(":")[0]) for line in lines}


@checkers
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_type_checker_accepts_a_users_program(checker: str, program: Path) -> None:
    assert check(checker, program) == ""


@checkers
def test_a_type_checker_sees_what_is_wrong(checker: str, tmp_path: Path) -> None:
    program = tmp_path / "faulty.py"
    program.write_text(FAULTS)
    said = check(checker, program)
    assert named_lines(said, program) == FAULTY, said


@checkers
def test_a_type_checker_sees_exactly_the_mistakes_in_a_program_of_tasks(checker: str) -> None:
    planted = {n for n, line in enumerate(FAULTY_TASKS.read_text().splitlines(), 1) if line.endswith("# wrong")}
    assert len(planted) > 15
    said = check(checker, FAULTY_TASKS)
    assert named_lines(said, FAULTY_TASKS) == planted, said
