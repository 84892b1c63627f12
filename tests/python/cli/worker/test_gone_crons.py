"""What becomes of a ``@tasks.cron`` that was renamed, and the commands with which it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bullrush import Queue, Tasks, Worker
from tests.waiting import wait_until

from .conftest import Start


def test_a_renamed_cron_fails_until_the_commands_of_the_docs_have_removed_it(
    start: Start, queue: Queue, redis_url: str, folder: Path
) -> None:
    def command(*words: str) -> None:
        environment = {**os.environ, "BULLRUSH_URL": redis_url}
        subprocess.run([sys.executable, "-m", "bullrush", *words], cwd=folder, env=environment, check=True, timeout=60)

    before = Tasks(queue.name, url=redis_url)
    before.cron("* * * * * *", tz="UTC", name="tick")(lambda: None)
    with Worker(before) as worker:
        worker.run(max_jobs=1)
    running = start("jobs:tasks")
    running.prints(
        f"whose code has gone: tick. They go on making jobs, each of which fails. Remove them: "
        f"bullrush schedulers {queue.name} --prune jobs:tasks"
    )
    wait_until(queue.get_failed_count)
    assert all("No handler for jobs named 'tick'" in job.failed_reason for job in queue.get_failed())
    command("schedulers", queue.name, "--prune", "jobs:tasks", "--yes")
    assert queue.get_job_schedulers() == []
    running.terminate()
    assert running.ends() == 0, running.output
    command("jobs", "remove", queue.name, "--state", "failed", "--name", "tick", "--yes")
    assert (queue.get_failed_count(), queue.get_delayed_count()) == (0, 0)
