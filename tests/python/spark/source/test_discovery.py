"""PySpark imports every package whose name begins with pyspark_, so the import of ours must never fail."""

import importlib.util
import subprocess
import sys

import pytest

HAS_SOURCES = importlib.util.find_spec("pyspark.sql.datasource") is not None


@pytest.mark.parametrize("missing", ["pyspark", "pyspark.sql.datasource", "pyarrow"])
def test_the_import_does_no_harm_where_something_is_missing(missing: str) -> None:
    """PySpark 3.5 has no `pyspark.sql.datasource`."""
    program = f"""
import sys
sys.modules[{missing!r}] = None
import pyspark_bullrush
assert hasattr(pyspark_bullrush, "DefaultSource") == ({HAS_SOURCES} and {missing!r} == "pyarrow")
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(not HAS_SOURCES, reason="PySpark 3.5 has no data sources of Python")
def test_the_import_starts_nothing() -> None:
    program = """
import threading
import pyspark_bullrush
assert pyspark_bullrush.DefaultSource.name() == "bullmq"
assert threading.active_count() == 1, threading.enumerate()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
