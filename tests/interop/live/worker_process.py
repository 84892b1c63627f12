"""A worker of ours in its own process, which tests kill: ``worker_process.py <url> <queue> <options as JSON>``."""

import json
import sys

from bullrush import Worker
from tests.interop.sides.scripted import scripted

if __name__ == "__main__":
    url, queue, options = sys.argv[1:]
    Worker(queue, scripted, url=url, **json.loads(options)).run()
