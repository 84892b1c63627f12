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


def add_rows(queue: Queue, jobs: int) -> None:
    """Add the rows of Arrow batches, with ids of their own and a counter, as Spark's ``enqueue`` does."""
    import pyarrow as pa

    from bullrush.arrow import ArrowWriter

    with ArrowWriter(queue, name="n", id_scope="s", batch_id="b") as writer:
        for first in range(0, jobs, 1000):
            count = min(1000, jobs - first)
            writer.write(pa.record_batch({name: [value] * count for name, value in DATA.items()}))


def main(url: str, kind: str, jobs: int) -> None:
    with Queue("turns", url=url) as queue:
        if kind == "add_arrow":
            add_rows(queue, jobs)
        else:
            for first in range(0, jobs, 1000):
                queue.add_bulk([{"name": "n", "data": DATA}] * min(1000, jobs - first))
    if kind in WORKERS:
        with WORKERS[kind]("turns", url=url) as worker:
            done = worker.run(until="empty").completed
        assert done == jobs, f"{done} of {jobs} jobs"
    print(bullrush.__file__)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
