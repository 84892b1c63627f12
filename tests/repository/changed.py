"""Runs the quick tests of what changed: ``make t``. Neither Java nor Node is needed.

A script has a test of its own, a room of the package and a folder of the core the tests of the same name. Tests that
are `slow` are left to ``make test``.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_NOT_NOW: Final = "not slow and not boards and not cluster and not path"
#: Tests that start Java or Node.
_OTHERS: Final = ("tests/python/spark", "tests/interop", "tests/boards", "tests/spark_cluster", "tests/redis_cluster")
_INCLUDE: Final = re.compile(r"^\s*--- @include (\w+)", re.MULTILINE)


def changed(since: str) -> list[str]:
    """Return the files that differ from a commit, and new ones."""
    asked = (["git", "diff", "--name-only", since], ["git", "ls-files", "--others", "--exclude-standard"])
    outputs = [subprocess.run(one, capture_output=True, check=True, text=True, cwd=ROOT).stdout for one in asked]
    return sorted({line for output in outputs for line in output.splitlines()})


def tests_of(path: str) -> Iterator[str]:
    """Yield the files and folders with tests of a file."""
    top, *below = Path(path).parts
    if path.startswith("lua/include/"):
        for script in _including(Path(path).stem):
            yield from tests_of(script)
    elif top == "lua":
        yield f"tests/lua/{below[0]}/test_{Path(path).stem}.py"
    elif path.startswith(("python/bullrush/", "src/")):
        room = Path(below[1] if top == "python" else below[0]).stem
        yield from (f"tests/python/{room}", f"tests/python/test_{room}.py")
    elif top == "tests" and path.endswith(".py"):
        yield path if Path(path).name.startswith("test_") else str(Path(path).parent)


def _including(name: str) -> set[str]:
    """Return the scripts that have an include, directly or by another one."""
    texts = {file: set(_INCLUDE.findall(file.read_text())) for file in (ROOT / "lua").rglob("*.lua")}
    wanted, scripts = {name}, set[str]()
    while more := {file for file, names in texts.items() if names & wanted} - {ROOT / one for one in scripts}:
        scripts |= {str(file.relative_to(ROOT)) for file in more}
        wanted |= {file.stem for file in more if "include" in file.parts}
    return {script for script in scripts if not script.startswith("lua/include/")}


def chosen(paths: Iterable[str]) -> list[str]:
    """Return the tests of some files: what exists, each once, without folders of which only a part is wanted."""
    found = {test for path in paths for test in tests_of(path) if (ROOT / test).exists() and test != "tests"}
    return sorted(test for test in found if not test.startswith(_OTHERS))


def main() -> int:
    """Return the exit code of the first command that failed, 0 if none did. Further arguments are those of pytest."""
    since, *arguments = sys.argv[1:] or ["HEAD"]
    paths = changed(since)
    commands = []
    crates = [("bullrush", "src/"), ("bullrush-arrow", "src/arrow/")]
    if any(path.startswith(("src/", "build.rs", "Cargo", "tests/rust/")) for path in paths):
        packages = [name for name, place in crates if any(path.startswith((place, "tests/rust/")) for path in paths)]
        commands += [["cargo", "test", "--quiet", *(f"--package={name}" for name in packages or ["bullrush"])]]
    if tests := chosen(paths):
        python = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--no-header", "-m", _NOT_NOW]
        commands += [[*python, *arguments, *tests]]
    if not commands:
        print(f"nothing that has tests of its own changed since {since}")
    for command in commands:
        print("--", " ".join(command[-6:]), flush=True)
        if code := subprocess.run(command, cwd=ROOT).returncode:
            return 0 if code == 5 else code  # 5: all were left out
    return 0


if __name__ == "__main__":
    sys.exit(main())
