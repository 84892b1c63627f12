"""Which rooms of bullrush are extras: each could be a distribution of its own any day."""

from typing import Final

EXTRAS: Final = frozenset(
    {
        *("legacy", "spark", "pyspark_bullrush", "django", "doctor", "cli", "__main__", "tasks", "testing"),
        "dashboard",
        *("pytest_plugin", "arrow", "embedded", "otel"),
    }
)
