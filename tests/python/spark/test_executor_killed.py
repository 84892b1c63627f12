import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from redis import Redis

PROGRAM = Path(__file__).with_name("killed_executor.py")
JOBS = 400
CONCURRENCY = 2


@pytest.mark.spark
@pytest.mark.faults
def test_an_executor_killed_in_mid_drain_loses_no_job(queue_name: str, redis_url: str, redis: Redis) -> None:
    ledger = f"bull:{queue_name}:ledger"
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), queue_name, redis_url, ledger],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    report = json.loads(ran.stdout.splitlines()[-1])
    assert report["enqueued"] == JOBS
    assert (report["completed"], report["failed"], report["waiting"], report["active"]) == (JOBS, 0, 0, 0)
    runs = Counter(redis.lrange(ledger, 0, -1))
    assert set(runs) == {f"id-{n}" for n in range(JOBS)}
    twice = [job for job, count in runs.items() if count > 1]
    assert f"id-{JOBS // 4}" in twice, "the killed job ran again"
    # Jobs that the killed worker had finished without an acknowledgement, and those it was running.
    assert sum(runs.values()) - JOBS <= 4 * CONCURRENCY, twice
    # No row is lost with the executor: the results are read from Redis.
    assert sorted(report["rows"]) == sorted([f"id-{n}", "completed", n] for n in range(JOBS))
