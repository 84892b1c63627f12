"""What a recorder finds of jobs that Node adds and runs, and of which Redis keeps none."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from benches.harness.peer import ROOT
from benches.micro.recorder.floods import settled
from bullrush.embedded import EmbeddedRedis
from bullrush.inspection import fingerprint
from bullrush.recorder import History, Recorder

JOBS: Final = 100_000
RATE: Final = 2_000
_FAIL_EACH: Final = 50


class Found(NamedTuple):
    """What was found.

    Attributes:
        jobs: how many jobs were found by id, name, outcome, and reason if they failed, with all times of their attempt.
        gaps: how often events may be missing.
        per_second: how many events came in a second, on average.
    """

    jobs: int
    gaps: int
    per_second: float


def forgotten_jobs(folder: Path, per_second: int) -> Found:
    """Let Node add jobs at a rate, or as fast as it can, and run them meanwhile."""
    file = folder / f"node-{per_second}.db"
    with EmbeddedRedis(port=0, password="") as server, Recorder(file, server.url, queues=["mail"]) as recorder:
        running = threading.Thread(target=recorder.run)
        running.start()
        port = str(urlsplit(server.url).port)
        words = ["node", "forgetful.js", "bullmq5", port, "0", "mail", str(JOBS), str(_FAIL_EACH), str(per_second)]
        began = time.monotonic()
        subprocess.run(words, cwd=ROOT / "tests" / "interop" / "node", check=True)
        took = time.monotonic() - began
        told = settled(recorder)
        recorder.stop()
        running.join()
    with History(file) as history:
        return Found(_found_whole(history), told.gaps, told.events / took)


def _found_whole(history: History) -> int:
    """Return how many jobs are known as they were, by each way to find them."""
    named = {job.job_id for name in ("welcome", "digest") for job in history.find("mail", name=name, limit=JOBS)}
    completed = {job.job_id for job in history.find("mail", outcome="completed", limit=JOBS)}
    reason = fingerprint("no such user 7", "").id
    failed = {job.job_id for job in history.find("mail", outcome="failed", reason=reason, limit=JOBS)}
    broken = {f"user-{n}" for n in range(0, JOBS, _FAIL_EACH)}
    right = named & (completed - broken | failed & broken)
    return sum(_is_whole(history, id) for id in right)


def _is_whole(history: History, job_id: str) -> bool:
    attempts = history.attempts("mail", job_id)
    [first, *others] = attempts
    return not others and None not in (first.queued, first.ready, first.claimed, first.ended)
