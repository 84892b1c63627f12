"""A queue that only Node touches and that keeps no job is remembered whole."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from urllib.parse import urlsplit

from redis import Redis

from bullrush.inspection import fingerprint
from bullrush.recorder import History, Recorder
from tests.interop.peers import Peer
from tests.waiting import wait_until

NODE = Path(__file__).parents[1] / "node"
FAIL_EACH = 50
#: How many jobs a producer of that major version adds, and how many of them per second: 0 is all at once.
LOADS = {5: (5_000, 0), 6: (10_000, 2_000)}


def test_jobs_that_node_removed_are_found_by_id_name_outcome_and_reason(
    peer: Peer, redis: Redis, redis_url: str, queue_name: str, tmp_path: Path
) -> None:
    at = urlsplit(redis_url)
    jobs, per_second = LOADS[peer.major]
    words = [peer.library, at.port, at.path[1:] or "0", queue_name, jobs, FAIL_EACH, per_second]
    with Recorder(tmp_path / "history.db", redis_url, queues=[queue_name]) as recorder:
        running = threading.Thread(target=recorder.run)
        running.start()
        subprocess.run(["node", "forgetful.js", *map(str, words)], cwd=NODE, check=True, timeout=100)
        with History(tmp_path / "history.db") as history:
            wait_until(
                lambda: len(history.find(queue_name, outcome="completed", limit=jobs)) == jobs * 49 // 50, pause=0.2
            )
            completed = history.find(queue_name, outcome="completed", limit=jobs)
            failed = history.find(queue_name, outcome="failed", limit=jobs)
            same = history.find(queue_name, reason=fingerprint("no such user 7", "").id, limit=jobs)
            named = history.find(queue_name, name="welcome", limit=jobs)
            known = history.remembered(queue_name)
            begin = 0 if known is None else known.since
            minutes = history.minutes(queue_name, begin, max(job.at for job in completed))
            attempts = [history.attempts(queue_name, f"user-{n}") for n in range(jobs)]
        recorder.stop()
        running.join()
    assert redis.exists(f"bull:{queue_name}:user-0", f"bull:{queue_name}:user-1") == 0
    ids = {f"user-{n}" for n in range(jobs)}
    broken = {f"user-{n}" for n in range(0, jobs, FAIL_EACH)}
    assert {job.job_id for job in failed} == {job.job_id for job in same} == broken
    assert {job.job_id for job in completed} == ids - broken
    assert {job.job_id for job in named} == {f"user-{n}" for n in range(1, jobs, 2)}
    assert known is not None and known.gaps == [] and known.share == 1
    assert sum(one.added for one in minutes) == sum(one.started for one in minutes) == jobs
    assert sum(one.completed for one in minutes) == len(completed)
    assert sum(one.failed for one in minutes) == len(failed)
    assert all(len(one) == 1 and one[0].queued and one[0].ready and one[0].claimed for one in attempts)
