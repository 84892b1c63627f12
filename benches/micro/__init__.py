"""Benchmarks of single calls: Python's with pytest-benchmark, the core's with criterion (``cargo bench`` here)."""
