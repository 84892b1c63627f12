"""A program in another language uses the scripts that `bullrush scripts --export` writes."""

import json
import subprocess
from pathlib import Path

from bullrush import Queue, cli

PROGRAM = Path(__file__).parents[1] / "node" / "exported.js"


def test_a_node_program_adds_runs_and_completes_a_job_by_the_exported_scripts(
    queue_name: str, redis_url: str, tmp_path: Path
) -> None:
    assert cli.main(["scripts", "--export", str(tmp_path / "lua")]) == 0
    words = ["node", str(PROGRAM), str(tmp_path / "lua"), redis_url, queue_name]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {"id": 1, "taken": "1", "refused": 0}
    with Queue(queue_name, url=redis_url) as queue:
        job = queue.get_job("1")
        assert job is not None and job.get_state() == "completed"
    assert (job.data, job.returnvalue, job.processed_by) == ({"user": 7}, {"name": "welcome", "hello": 7}, "node")


def test_a_node_program_and_a_program_of_ours_share_a_limit(queue_name: str, redis_url: str, tmp_path: Path) -> None:
    assert cli.main(["scripts", "--export", str(tmp_path / "lua")]) == 0
    limit = f"api-{queue_name}"
    words = ["node", str(PROGRAM.with_name("limits.js")), str(tmp_path / "lua"), redis_url, limit]
    with Queue(queue_name, url=redis_url) as queue:
        queue.limits.set(limit, concurrency=2, rates=[(20, "1s")])
        theirs = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ours = []
        while theirs.poll() is None:
            with queue.limits.take(limit) as grant:
                ours.append(grant.taken_at)
        said, errors = theirs.communicate()
        assert theirs.returncode == 0, errors
        queue.limits.remove(limit)
    times = [*ours, *json.loads(said)]
    assert len(json.loads(said)) == 30
    assert max(sum(0 <= end - at < 1_000 for at in times) for end in times) <= 20
