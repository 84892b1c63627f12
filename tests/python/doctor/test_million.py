"""The time of the doctor, and the time that it takes from others: DOCTOR_JOBS=1000000 (``make million``), else few."""

import os
import time
from collections.abc import Callable

from bullrush import Queue, Worker
from bullrush.doctor import Doctor

JOBS = int(os.environ.get("DOCTOR_JOBS", "2000"))
#: Microseconds that one call may take the server.
LONGEST = 10_000


def test_many_jobs_are_read_without_a_long_call(own_server: Callable) -> None:
    url, redis = own_server(args=["--appendfsync", "no"])
    with Queue("mail", url=url) as queue:
        for number in range(0, JOBS, 10_000):
            opts = ({}, {"delay": 3_600_000}, {"priority": 3}, {})[number // 10_000 % 4]
            queue.add_bulk([{"name": "send", "opts": opts} for _ in range(min(10_000, JOBS - number))])
        with Worker("mail", batch_handler=lambda jobs: [None] * len(jobs), batch_size=100, url=url) as worker:
            worker.run(until="empty", max_jobs=JOBS // 4)
    redis.config_set("slowlog-log-slower-than", LONGEST)
    redis.slowlog_reset()
    times = {}
    for deep in (False, True):
        before = time.monotonic()
        report = Doctor(url).examine(deep=deep)
        times[deep] = time.monotonic() - before
        assert [finding for finding in report.findings if finding.code != "BR107"] == []
    # Without `deep` the search for queues may have been cut.
    assert (report.queues, report.skipped) == (["mail"], [])
    assert times[False] < 5 and times[True] < 60
    slow = [(entry["duration"], entry["command"][:60]) for entry in redis.slowlog_get()]
    print(f"\n{JOBS:,} jobs: {times[False]:.2f} s, with deep {times[True]:.1f} s; slow calls: {slow}")
    if JOBS >= 100_000:
        # A shorter run says nothing about the calls, and a loaded machine may stop the server at any moment.
        assert slow == []
