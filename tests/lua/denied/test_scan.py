"""route/scan_jobs: whatever command is denied, each job is in exactly one place.

The same call made again does the rest.
"""

import json

import pytest

from tests.lua.denied.scenarios import NOW, Scenario

PROFILE = '{"capabilities":["gpu"]}'
MINE, OTHERS = (json.dumps({"target": {"capabilities": [name]}}, separators=(",", ":")) for name in ("gpu", "tpu"))


@pytest.mark.parametrize("priority", [0, 3, None])
@pytest.mark.parametrize("capped", [False, True])
def test_jobs_are_fetched_by_a_scan(scenarios, add, client, priority, capped):
    def prepare(queue):
        for opts in (OTHERS, MINE, OTHERS, MINE):
            add(queue, "{}", opts=opts, priority=priority or 0)
            if priority is None:
                add(queue, "{}", opts=opts, priority=1)
        add(queue, "{}", opts=MINE, delay=1, timestamp=NOW - 100)
        if capped:
            client.hset(f"bull:{queue}:meta", "concurrency", 3)

    def calls(queue):
        return [("route/scan_jobs", NOW, "t", 30_000, "", "", "", 5, 5, "", 1, 100, PROFILE)]

    assert scenarios.faults(Scenario(prepare, calls)) == {}
