"""Adds jobs and processes them, for a server whose instructions are counted: `python turns.py URL KIND JOBS`."""

from __future__ import annotations

import sys
from functools import partial

import bullrush
from bullrush import Queue, Worker

DATA = {"to": "ann@example.com", "text": "x" * 100}
#: Workers whose calls have one job each, and fifty.
WORKERS = {
    "1 slot": partial(Worker, handler=lambda job: None, prefetch=0),
    "batches of 50": partial(Worker, batch_handler=lambda jobs: [None] * len(jobs), batch_size=50, prefetch=0),
}


def main(url: str, kind: str, jobs: int) -> None:
    with Queue("turns", url=url) as queue:
        for first in range(0, jobs, 1000):
            queue.add_bulk([{"name": "n", "data": DATA}] * min(1000, jobs - first))
    if kind in WORKERS:
        with WORKERS[kind]("turns", url=url) as worker:
            done = worker.run(until="empty").completed
        assert done == jobs, f"{done} of {jobs} jobs"
    print(bullrush.__file__)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
