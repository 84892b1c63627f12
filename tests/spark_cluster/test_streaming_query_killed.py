import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bullrush import Queue

PROGRAM = Path(__file__).with_name("streaming_query.py")
SIZE = 500


@contextmanager
def program(*arguments: object) -> Iterator[Iterator[str]]:
    """Run the program until the end of the block, which kills it and its JVM, and give what it says."""
    errors = subprocess.DEVNULL
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True) as running:
        assert running.stdout is not None
        try:
            yield (line.strip() for line in running.stdout if line.startswith("written"))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def test_a_query_killed_between_write_and_commit_adds_no_job_twice_and_misses_none(
    queue: Queue, redis_url: str, tmp_path: Path
) -> None:
    query = (queue.name, redis_url, tmp_path / "checkpoint", SIZE)
    with program(*query, 2, -1) as said:
        assert [next(said) for _ in range(3)] == ["written 0", "written 1", "written 2"]
    with program(*query, -1, 4) as said:
        assert [next(said) for _ in range(3)] == ["written 2", "written 3", "written 4"], "batch 2 is written again"
    jobs = Counter((job.name, job.data["value"]) for job in queue.get_jobs("waiting"))
    assert jobs == {(name, value): 1 for name in ("first", "second") for value in range(5 * SIZE)}
