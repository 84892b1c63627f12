"""A recorder reads and writes nothing in Redis, survives what happens to streams, and keeps its file in bounds."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from bullrush import Job, Queue, Worker
from bullrush.errors import InvalidOptionError
from bullrush.inspection import fingerprint
from bullrush.recorder import History, Recorder
from bullrush.rights import acl_rule, read_roles
from tests.python.recorder.recording import Recording
from tests.waiting import wait_until

#: What a connection says about itself, and what it asks for to know that no reply got lost.
SET_UP = {"AUTH", "HELLO", "CLIENT", "SELECT", "INFO", "PING", "ECHO", "CLUSTER", "SCRIPT"}
#: Each connection sends CLIENT SETINFO, which is in no rule; Redis 6.2 names only the command.
SET_INFO = {"client", "client|setinfo"}
READS = {"XREAD", "XRANGE", "XREVRANGE", "SCAN"}


def test_only_reads_are_sent_and_a_reader_has_the_rights_for_them(
    queue: Queue, redis: Redis, redis_url: str, recording: Recording
) -> None:
    about = read_roles()["reader"]
    redis.execute_command(*acl_rule([*about.needed, *about.useful], user=queue.name, password="x").split())
    redis.acl_log_reset()
    sent: dict[str, set[str]] = {}
    with Redis.from_url(redis_url, decode_responses=True) as other, other.monitor() as monitor:
        try:
            job = queue.add("n")
            with recording(url=redis_url.replace("//", f"//{queue.name}:x@"), queues=None) as history:
                wait_until(lambda: history.attempts(queue.name, job.id))
            redis.echo(f"the end of {queue.name}")
            for command in monitor.listen():
                if f"the end of {queue.name}" in command["command"]:
                    break
                address = f"{command['client_address']}:{command['client_port']}"
                sent.setdefault(address, set()).add(command["command"].split()[0].upper())
        finally:
            denied = {one["object"] for one in redis.acl_log() if one["username"] == queue.name} - SET_INFO
            redis.acl_deluser(queue.name)
    # Nobody else reads a stream.
    by_recorder = [commands for commands in sent.values() if "XREAD" in commands]
    assert by_recorder != [] and all(commands - SET_UP <= READS for commands in by_recorder)
    assert denied == set()


def test_counts_per_minute_add_up_to_a_ledger(
    queue: Queue, redis: Redis, worker: Callable[..., Worker], recording: Recording
) -> None:
    def handle(job: Job) -> None:
        if job.data % 10 == 0:
            raise ValueError(job.data)

    began = int(time.time() * 1_000)
    with recording() as history:
        jobs = queue.add_bulk([{"name": "n", "data": n} for n in range(500)])
        worker(handle, concurrency=10).run(until="drained")
        queue.add_bulk([{"name": "gone"}] * 20)
        for job in queue.get_waiting():
            job.remove()

        def counted() -> Counter[str]:
            total: Counter[str] = Counter()
            for minute in history.minutes(queue.name, began, int(time.time() * 1_000)):
                kinds = ("added", "started", "completed", "failed", "removed")
                total.update({kind: getattr(minute, kind) for kind in kinds})
            return total

        # A job that was claimed ahead and given back is claimed once more.
        told = Counter(fields["event"] for _, fields in redis.xrange(queue.to_key("events")))  # type: ignore[union-attr]
        ledger = {"added": 520, "started": told["active"], "completed": 450, "failed": 50, "removed": 20}
        wait_until(lambda: counted() == ledger, "the ledger")
        failed = history.find(queue.name, outcome="failed", limit=1_000)
        completed = history.find(queue.name, outcome="completed", limit=1_000)
    assert {job.job_id for job in failed} == {job.id for job in jobs if job.data % 10 == 0}
    assert len(completed) == 450


def test_a_reason_is_stored_once_and_found_by_its_text_and_its_fingerprint(
    queue: Queue, file: Path, worker: Callable[..., Worker], recording: Recording
) -> None:
    def handle(job: Job) -> None:
        raise ValueError(f"no such user {job.data}")

    with recording() as history:
        queue.add_bulk([{"name": "welcome", "data": n} for n in range(30)])
        worker(handle).run(until="drained")
        wait_until(lambda: len(history.find(queue.name, outcome="failed")) == 30)
        same = fingerprint("no such user 7", "").id
        assert len(history.find(queue.name, reason=same)) == len(history.find(queue.name, reason="such user")) == 30
        assert history.find(queue.name, reason="other") == history.find(queue.name, name="bye") == []
        assert len(history.find(queue.name, name="welcome", limit=7)) == 7
    with sqlite3.connect(file) as database:
        assert database.execute("SELECT count(*) FROM reasons").fetchone() == (1,)


def test_masks_hold_before_writing(
    queue: Queue, file: Path, worker: Callable[..., Worker], recording: Recording
) -> None:
    def handle(job: Job) -> None:
        raise ValueError("card 4111-1111 of redis://user:geheim@host declined: {'Token': 'hunter2'}")

    with recording(mask=["token"], mask_text=[r"\d{4}-\d{4}"]) as history:
        queue.add("pay 4222-2222")
        worker(handle).run(until="drained")
        [job] = wait_until(lambda: history.find(queue.name, outcome="failed"))
        assert job.name == "pay ***" and "card ***" in str(job.reason)
        stored = b"".join(path.read_bytes() for path in file.parent.glob(f"{file.name}*"))
    assert not [secret for secret in (b"4111", b"4222", b"geheim", b"hunter2") if secret in stored]


def test_data_and_results_are_in_no_file(
    queue: Queue, file: Path, worker: Callable[..., Worker], recording: Recording
) -> None:
    with recording() as history:
        queue.add("n", {"secret": "of the data"})
        worker(lambda job: "of the result").run(until="drained")
        wait_until(lambda: history.find(queue.name, outcome="completed"))
        stored = b"".join(path.read_bytes() for path in file.parent.glob(f"{file.name}*"))
    assert b"of the " not in stored


def test_the_file_is_for_its_user_alone_and_for_one_recorder(
    queue: Queue, file: Path, redis_url: str, recording: Recording
) -> None:
    with recording() as history:
        queue.add("n")
        wait_until(lambda: history.find(queue.name))
        modes = {stat.S_IMODE(os.stat(path).st_mode) for path in file.parent.glob(f"{file.name}*")}
        assert modes == {0o600}
        with pytest.raises(InvalidOptionError, match="another process records"):
            Recorder(file, redis_url)
        code = f"from bullrush.recorder import Recorder; Recorder({str(file)!r}, {redis_url!r})"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "another process records" in other.stderr
    with Recorder(file, redis_url):
        pass


def test_the_file_stays_within_its_bound_and_drops_successes_first(
    queue: Queue, redis: Redis, file: Path, recording: Recording
) -> None:
    """Written by a pipeline, as Node would: 30,000 jobs, of which each 100th fails."""
    most = 4 << 20

    def size() -> int:
        return sum(path.stat().st_size for path in file.parent.glob(f"{file.name}*"))

    jobs, largest = 30_000, 0
    with recording(max_bytes=most, events_per_second=1_000_000) as history:
        for begin in range(0, jobs, 2_000):
            pipeline = redis.pipeline(transaction=False)
            for n in range(begin, begin + 2_000):
                end = {"event": "completed", "returnvalue": "null"}
                if n % 100 == 0:
                    end = {"event": "failed", "failedReason": f"no such user {n}"}
                pipeline.xadd(queue.to_key("events"), {"event": "added", "jobId": f"job-{n}", "name": "welcome"})
                pipeline.xadd(queue.to_key("events"), {"event": "waiting", "jobId": f"job-{n}"})
                pipeline.xadd(queue.to_key("events"), {"event": "active", "jobId": f"job-{n}", "prev": "waiting"})
                pipeline.xadd(queue.to_key("events"), {**end, "jobId": f"job-{n}", "prev": "active"})
            pipeline.execute()
            largest = max(largest, size())
        wait_until(lambda: history.find(queue.name, job_id=f"job-{jobs - 1}", outcome="completed"))
        failed = history.find(queue.name, outcome="failed", limit=jobs)
        completed = history.find(queue.name, outcome="completed", limit=jobs)
        known = history.remembered(queue.name)
        counts = history.minutes(queue.name, 0 if known is None else known.since, int(time.time() * 1_000))
    assert max(largest, size()) <= most
    assert len(failed) == jobs // 100 and 0 < len(completed) < jobs * 0.99
    assert known is not None and known.successes_since > known.since
    assert sum(minute.added for minute in counts) == jobs


def test_new_queues_are_found(redis_url: str, file: Path, queue_name: str) -> None:
    """Those that exist when it begins: it looks again once a minute."""
    prefix = f"p-{queue_name}"
    with Queue(queue_name, url=redis_url, prefix=prefix) as queue, Recorder(file, redis_url, prefix=prefix) as recorder:
        queue.add("n")
        running = threading.Thread(target=recorder.run)
        running.start()
        with History(file) as history:
            wait_until(lambda: history.queues() == [queue_name])
        recorder.stop()
        running.join()


@pytest.mark.parametrize(
    "options", [{"max_bytes": 1}, {"mask_text": ["("]}, {"events_per_second": 0}, {"queues": ["a:b"]}]
)
def test_wrong_options_are_refused(file: Path, redis_url: str, options: dict[str, Any]) -> None:
    with pytest.raises(Exception, match=r"max_bytes|mask|events_per_second|queue|Queue"):
        Recorder(file, redis_url, **options)


def test_what_is_no_history_is_refused(tmp_path: Path, redis_url: str) -> None:
    (tmp_path / "text").write_text("no database " * 100)
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE t (x)")
    for name in ("text", "other"):
        with pytest.raises(InvalidOptionError, match="no history"):
            History(tmp_path / name)
        with pytest.raises(InvalidOptionError, match="no history"):
            Recorder(tmp_path / name, redis_url)
    with pytest.raises(InvalidOptionError, match="there is no history"):
        History(tmp_path / "missing")
