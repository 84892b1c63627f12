"""A program whose handler is defined in its main module. Arguments: queue name, URL."""

import sys
import time

from bullrush import Job, Worker


def handler(job: Job) -> str:
    print("started", flush=True)
    time.sleep(0.5)
    return "done"


if __name__ == "__main__":
    with Worker(sys.argv[1], handler, url=sys.argv[2], isolation="process") as worker:
        print(worker.run(), flush=True)
