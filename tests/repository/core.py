"""Runs the tests of queues, workers and jobs with a copy of bullrush that has none of its extras but `embedded`.

``make core-test``. What fails here would fail in a distribution of the core alone: an import that leads to an extra.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.repository.extras import EXTRAS

ROOT: Final = Path(__file__).parents[2]
TESTED: Final = ("queue", "job", "worker")


def copy_core(to: Path) -> None:
    """Copy the package without its extras; ``to`` is the folder to import it from."""
    left_out = {name for extra in EXTRAS - {"embedded"} for name in (extra, f"{extra}.py")}
    package = ROOT / "python/bullrush"

    def ignored(folder: str, names: list[str]) -> set[str]:
        return left_out.intersection(names) if Path(folder) == package else {"__pycache__"}

    shutil.copytree(package, to / "bullrush", ignore=ignored)


def main() -> int:
    """Return the exit code of pytest, whose arguments are those of the process."""
    with tempfile.TemporaryDirectory() as folder:
        copy_core(Path(folder))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([folder, str(ROOT)])}
        # Blocked by its name: the plugin with the fixtures for users is an extra, too.
        command = [sys.executable, "-m", "pytest", "-p", "no:bullrush", *sys.argv[1:]]
        folders = [f"tests/python/{name}" for name in TESTED]
        where = "import bullrush, sys; sys.exit(not bullrush.__file__.startswith(sys.argv[1]))"
        subprocess.run([sys.executable, "-c", where, folder], env=environment, cwd=ROOT, check=True)
        return subprocess.run([*command, *folders], env=environment, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
