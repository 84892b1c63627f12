"""Adds jobs and processes them, for a server whose instructions are counted: `python turns.py URL KIND JOBS`."""

from __future__ import annotations

import sys
from functools import partial

import bullrush
from bullrush import NewJob, Queue, Worker

#: Workers with one call for each job, and with the usual calls.
WORKERS = {"1 slot": partial(Worker, concurrency=1, prefetch=0), "100 slots": partial(Worker, concurrency=100)}


def main(url: str, kind: str, jobs: int) -> None:
    with Queue("turns", url=url) as queue:
        row: NewJob = {"name": "n", "data": {"to": "ann@example.com", "text": "x" * 100}}
        for first in range(0, jobs, 1000):
            queue.add_bulk([row] * min(1000, jobs - first))
    if kind in WORKERS:
        with WORKERS[kind]("turns", lambda job: None, url=url) as worker:
            done = worker.run(until="empty").completed
        assert done == jobs, f"{done} of {jobs} jobs"
    print(bullrush.__file__)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
