"""The page about configuration is that of the code, of Redis and of BullMQ's own types."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from redis import Redis

from bullrush import FlowProducer, JobScheduler, Queue, QueueEvents, Worker
from bullrush.job.options import JobOptions
from bullrush.values.naming import camel
from docs.build import configuration

ROOT = Path(__file__).parents[2]
PAGE = configuration.PAGE.read_text()
NODE = ROOT / "tests" / "interop" / "node_modules"

#: A value of each option of a job.
GIVEN: dict[str, Any] = {
    "attempts": 2,
    "backoff": 1000,
    "continue_parent_on_failure": True,
    "debounce": {"id": "a"},
    "deduplication": {"id": "b", "keep_last_if_active": True},
    "delay": 5000,
    "fail_parent_on_failure": True,
    "ignore_dependency_on_failure": True,
    "job_id": "order-17",
    "keep_logs": 3,
    "lifo": True,
    "priority": 7,
    "remove_dependency_on_failure": True,
    "remove_on_complete": True,
    "remove_on_fail": {"age": 60},
    "size_limit": 1000,
    "stack_trace_limit": 2,
    "telemetry": {"metadata": "x"},
    "timestamp": 1_700_000_000_000,
}


def rows(table: str) -> dict[str, list[str]]:
    """Return the cells of a table on the page by the name of the option: type, unit, default, BullMQ, meaning."""
    (text,) = re.findall(rf"<!-- options: {table} -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    cells = [re.split(r" (?<!\\)\| ", line.strip("|\n ")) for line in text.strip().splitlines()[2:]]
    return {name.strip("` "): rest for name, *rest in cells}


def test_the_tables_are_what_make_configuration_writes() -> None:
    assert configuration.page(PAGE) == PAGE, "run make configuration"


def test_the_page_has_every_table_once() -> None:
    assert sorted(re.findall(r"<!-- options: (\w+) -->", PAGE)) == sorted(configuration.tables())
    assert all(len(cells) == 5 and all(cells) for table in configuration.tables() for cells in rows(table).values())


def test_the_page_has_every_environment_variable() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "python").rglob("*.py"))
    read = set(re.findall(r'"((?:BULLRUSH|REDIS|JAVA)_[A-Z_]+)"', sources)) - {"BULLRUSH_WORKER_URL"}
    assert {"BULLRUSH_URL", "REDIS_URL"} < read
    assert read == set(re.findall(r"^\| `([A-Z_]+)` \|", PAGE, re.MULTILINE))


@pytest.mark.parametrize("option", sorted(GIVEN))
def test_an_option_is_stored_under_the_name_on_the_page(
    redis: Redis, redis_url: str, queue_name: str, option: str
) -> None:
    assert GIVEN.keys() | {"parent", "target", "wake"} == JobOptions.__annotations__.keys()
    with Queue(queue_name, url=redis_url) as queue:
        job = queue.add("n", **{option: GIVEN[option]})
        stored = orjson.loads(redis.hget(queue.to_key(job.id), "opts"))
    documented = rows("JobOptions" if option != "telemetry" else "JobTelemetry")
    cell = documented["metadata" if option == "telemetry" else option][3]
    assert re.findall(r"`([^`]+)`", cell)[-1] in stored


def test_the_defaults_of_jobs_are_those_on_the_page(redis_url: str, queue_name: str) -> None:
    defaults = {
        name: cells[2] for name, cells in rows("JobOptions").items() if cells[2] not in ("-", "now", "all", "`False`")
    }
    with Queue(queue_name, url=redis_url) as queue:
        bare = queue.add("n")
        for n in range(120):
            bare.log(str(n))
        kept = queue.get_job_logs(bare.id)["count"]
        seen = {"attempts": bare.opts["attempts"], "delay": bare.delay, "priority": bare.priority, "keep_logs": kept}
    assert defaults == {name: str(value) for name, value in seen.items()}


def test_the_defaults_of_objects_are_those_on_the_page(redis_url: str, queue_name: str) -> None:
    kinds = {"QueueOptions": Queue, "QueueEventsOptions": QueueEvents, "SchedulerOptions": JobScheduler}
    for table, kind in kinds.items():
        with kind(queue_name, url=redis_url) as handle:  # type: ignore[attr-defined]
            assert rows(table)["prefix"][2] == f"`{handle.prefix}`"
    with FlowProducer(url=redis_url) as flows, Queue(queue_name, url=redis_url) as queue:
        timeout = flows._core_settings["timeout"]
        assert rows("FlowOptions")["timeout"][2] == f"{timeout:,}"
        assert rows("QueueOptions")["streams"][2] == f"{queue.meta_values['opts.maxLenEvents']:,} events"
    with Worker(queue_name, lambda job: None, url=redis_url) as worker:
        assert rows("WorkerOptions")["concurrency"][2] == str(worker.concurrency)


@pytest.mark.node
def test_the_names_of_bullmq_are_those_of_its_types() -> None:
    if not NODE.is_dir():
        pytest.skip("BullMQ is not installed: run 'npm ci' in tests/interop")
    types = [*NODE.glob("bullmq[56]/dist/esm/*/*.d.ts"), *NODE.glob("cron-parser/**/*.d.ts")]
    declared = set(re.findall(r"^ +'?(\w+)'?\??:", "".join(path.read_text() for path in types), re.MULTILINE))
    assert len(declared) > 200
    wrong, ours = [], set()
    for table, options in configuration.tables().items():
        for name, cells in rows(table).items():
            if cells[3] != "-":
                theirs = cells[3].split("`")[1].rpartition(".")[2]
                wrong += [f"{table}.{name}"] if theirs not in declared else []
            elif options.ours is not None:
                ours.add(name)
    assert wrong == []
    worker = "".join(path.read_text() for path in NODE.glob("bullmq[56]/dist/esm/interfaces/worker-options.d.ts"))
    assert {"prefetch", "timeout"} < ours
    assert [name for name in ours if re.search(rf"^ +{camel(name)}\??:", worker, re.MULTILINE)] == []
