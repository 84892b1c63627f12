"""Handlers of processes that start when a test wants: a file keeps them from importing this module."""

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

from bullrush import Job

#: The variable with the path of that file.
GATE = "BULLRUSH_TEST_GATE"
#: The variable with the path of a file with which a process ends as soon as it imports this module.
DOOM = "BULLRUSH_TEST_DOOM"

if multiprocessing.parent_process() is not None:
    while (gate := os.environ.get(GATE)) and Path(gate).exists():
        time.sleep(0.01)
    if (doom := os.environ.get(DOOM)) and Path(doom).exists():
        os._exit(1)


def run(job: Job) -> Any:
    """Note that it ran, and where."""
    job.log(f"{os.getpid()}")
    return os.getpid()


def meet(job: Job) -> Any:
    """Wait until that many jobs run at the same time."""
    seen, most = Path(job.data["folder"]), job.data["count"]
    (seen / job.id).touch()
    while len(list(seen.iterdir())) < most:
        time.sleep(0.01)
    return os.getpid()
