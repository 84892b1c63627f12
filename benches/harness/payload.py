"""The jobs of all questions: 100 bytes of data or more, different in each job. The peers make the same ones."""

from __future__ import annotations

from typing import Any

NAME = "order"
NOTE = "a small payload of about a hundred"
#: The rough size of a payload without padding.
SMALL = 100


def note(size: int) -> str:
    """Return the text that gives a payload about this size in bytes."""
    return NOTE + "x" * max(0, size - SMALL)


def payload(index: int, size: int = SMALL) -> dict[str, object]:
    """Return the data of a job."""
    return {"order": index, "customer": f"c-{index:06}", "amount": index % 997 + 0.5, "note": note(size)}


def payloads(jobs: int, size: int = SMALL) -> list[dict[str, object]]:
    """Return the data of this many jobs."""
    text = note(size)
    return [
        {"order": index, "customer": f"c-{index:06}", "amount": index % 997 + 0.5, "note": text}
        for index in range(jobs)
    ]


def table(jobs: int, size: int = SMALL) -> Any:
    """Return the same data as an Arrow table."""
    import pyarrow as pa

    numbers = range(jobs)
    return pa.table(
        {
            "order": pa.array(numbers, pa.int64()),
            "customer": [f"c-{number:06}" for number in numbers],
            "amount": [number % 997 + 0.5 for number in numbers],
            "note": pa.repeat(note(size), jobs),
        }
    )
