"""The example that moves a queue of real Bull 3 while its producers run; in a checkout it finds Bull by itself."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "legacy_bull.py"


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, EXAMPLE], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def test_the_example_runs_from_a_checkout():
    done = run()
    assert done.returncode == 0, done.stderr
    assert "jobs were added to Bull; bullrush ran" in done.stdout


def test_the_example_says_in_one_line_that_node_is_missing(tmp_path):
    done = run(PATH=str(tmp_path))
    assert (done.returncode, done.stderr) == (1, "this example needs Node >= 18 on PATH\n")
