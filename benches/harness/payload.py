"""The jobs that are added and worked: about 100 bytes of data, different in each job. The peers make the same ones."""

from __future__ import annotations

NAME = "order"
NOTE = "a small payload of about a hundred"


def payload(index: int) -> dict[str, object]:
    """Return the data of a job."""
    return {"order": index, "customer": f"c-{index:06}", "amount": index % 997 + 0.5, "note": NOTE}


def payloads(jobs: int) -> list[dict[str, object]]:
    """Return the data of so many jobs."""
    return [payload(index) for index in range(jobs)]
