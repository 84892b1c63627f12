import json
import subprocess
import sys
from pathlib import Path

from bullrush import Queue

PROGRAM = Path(__file__).with_name("connect_program.py")
JOBS = 1_000


def test_everything_that_needs_no_rdd_works_over_spark_connect(queue: Queue, redis_url: str) -> None:
    # A program of its own, since a process has either classic sessions or Connect sessions.
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), queue.name, redis_url], capture_output=True, text=True, timeout=200
    )
    assert ran.returncode == 0, ran.stderr[-3_000:]
    report = json.loads(ran.stdout.splitlines()[-1])
    assert report.pop("session").startswith("pyspark.sql.connect")
    assert report == {
        "added": JOBS,
        "bar": JOBS,
        "finished": JOBS,
        "results": [2 * number for number in range(JOBS)],
        "states": {"completed": JOBS},
        "read": [["completed", number, 2 * number] for number in range(JOBS)],
        "answers": [[number, 2 * number] for number in range(100)],
        "flows": [5, 100],
        "over servers": [100, 100, 2],
        "source": 100,
    }
    assert queue.get_completed_count() == JOBS
