"""Every program in examples/ runs to its end; each checks its own results.

`make demo` runs demo.py, tests/python/worker/test_sentry.py the worker that runs until it is stopped, and
tests/interop/legacy/test_example.py the program with Bull.
"""

import os
import runpy
from pathlib import Path

import pytest

from tests.conftest import INTEROP

ELSEWHERE = {"demo", "legacy_bull", "sentry_worker"}
EXAMPLES = sorted(path for path in (Path(__file__).parents[3] / "examples").glob("*.py") if path.stem not in ELSEWHERE)


@pytest.mark.spark
@pytest.mark.parametrize(
    "program",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.node] if "node" in path.stem else []) for path in EXAMPLES],
)
def test_an_example_runs(
    program: Path, spark: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # In this process, where `getOrCreate` finds the session of all Spark tests: starting Java takes seconds.
    monkeypatch.setenv("NODE_PATH", os.fspath(INTEROP / "node_modules"))
    monkeypatch.setenv("PYSPARK_PYTHON", os.environ["PYSPARK_PYTHON"])
    runpy.run_path(os.fspath(program), run_name="__main__")
    assert capsys.readouterr().out
