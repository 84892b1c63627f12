"""What Spark's executors run for `bullrush.spark.enqueue`, in a plain process, so that no round needs a JVM.

A task that fails runs again with the same rows, as Spark does it.
"""

import sys
import threading
from typing import Any

import pyarrow

from bullrush import Queue, errors
from bullrush.spark.address import Address
from bullrush.spark.tasks.add_rows import AddRows
from tests.faults.suite.ledger import Ledger

ROWS = 200
MOST_WAITING = 1500


def run_rows(url: str, ledger: Ledger, settings: dict[str, Any], stopped: threading.Event) -> None:
    """Add partitions of rows until the process is to end."""

    class Endless(Address):
        """The queue, of whose event stream nothing is trimmed: the suite reads it in the end."""

        def open(self, *, timeout: int | None = None, adds: bool = False, durable: Any = False) -> Queue:
            del timeout, adds, durable
            return Queue(self.name, url=url, timeout=settings["timeout"], **settings["options"])

    columns = ["key", "k", "ms"]
    options = {"name": "work", "data": ["k", "ms"], "job_id": "key", "opts": {}, "max_waiting": MOST_WAITING}
    address = Endless.on_driver(settings["queue"], url, "bull")
    add = AddRows([address], columns, settings["name"], None, False, {**options, "on_oom": "wait"})
    part = 0
    while not stopped.is_set():
        keys = [f"{settings['name']}-{part}-{row}x" for row in range(ROWS)]
        rows = pyarrow.record_batch([keys, keys, [row % 4 for row in range(ROWS)]], names=columns)
        part += 1
        while not stopped.is_set():
            try:
                list(add(iter([rows])))
            except (errors.BullrushError, OSError) as error:
                print("the task failed:", repr(error)[:300], file=sys.stderr)
                stopped.wait(0.2)
                continue
            for key in keys:
                ledger.note("a", key)
            break
        stopped.wait(settings["pause"])
