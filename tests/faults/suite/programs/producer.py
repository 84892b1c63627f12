"""Producers of ours in their own process, until SIGTERM.

usage: producer.py <sync|aio|spark> <url> <ledger file> <JSON settings>

Lines of the ledger: ``a`` a job was acknowledged, ``u`` an add without an id of ours whose outcome is unknown: there
may be one such job, and never two.
"""

import asyncio
import faulthandler
import json
import logging
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[4]))
from bullrush import FlowProducer, Queue, aio, errors
from tests.faults.suite.jobs import flow_of, kind_of
from tests.faults.suite.ledger import Ledger
from tests.interop.sides.results import snaked

#: Jobs that wait before the producers pause, so that what a fault leaves behind is soon done.
MOST_WAITING = 1500
#: The errors that the producer may get while Redis cannot take a job. Anything else ends it.
REFUSED = (errors.ConnectionLostError, errors.RedisServerError)
#: The job may or may not be there; one without an id of ours is not added again.
UNKNOWN = (errors.OutcomeUnknownError, errors.NotDurableError)


def new_job(key: str, n: int) -> dict[str, Any]:
    kind = kind_of(n)
    opts = snaked(kind.opts) | ({"job_id": key} if kind.own_id else {})
    return {"name": "work", "data": {**kind.data, "k": key}, "opts": opts}


class Plan:
    """What is added next: mostly single jobs, some in bulk, some flows."""

    def __init__(self, name: str, seed: int, bulk: int) -> None:
        self._chance, self._name, self._bulk, self.n = random.Random(seed), name, bulk, 0

    def next_batch(self) -> tuple[bool, list[dict[str, Any]]]:
        """Return jobs, and whether they go in one bulk.

        Bulks have ids of ours or none, since only the former may be repeated.
        """
        bulk = self._chance.random() < 0.6
        count = self._bulk if bulk else 10
        numbers = range(self.n, self.n + count)
        self.n += count
        jobs = [new_job(f"{self._name}-{n}", n) for n in numbers]
        if bulk:
            own = self._chance.random() < 0.5
            for job in jobs:
                job["opts"].pop("job_id", None)
                if own:
                    job["opts"]["job_id"] = job["data"]["k"]
        return bulk, jobs


def run_threads(url: str, ledger: Ledger, settings: dict[str, Any], stopped: threading.Event) -> None:
    options = settings["options"]
    queue = Queue(settings["queue"], url=url, timeout=settings["timeout"], **options)
    flows = FlowProducer(url=url, timeout=settings["timeout"], durable=options.get("durable", False))
    plan, flow = Plan(settings["name"], settings["seed"], settings["bulk"]), 0

    def add(jobs: list[dict[str, Any]]) -> None:
        own = "job_id" in jobs[0]["opts"]
        while True:
            try:
                queue.add_bulk(jobs) if len(jobs) > 1 else queue.add(
                    jobs[0]["name"], jobs[0]["data"], **jobs[0]["opts"]
                )
                for job in jobs:
                    ledger.note("a", job["data"]["k"])
                return
            except UNKNOWN:
                if not own:
                    for job in jobs:
                        ledger.note("u", job["data"]["k"])
                    return
            except REFUSED:
                if len(jobs) > 1 and not own:  # some parts may have been added
                    for job in jobs:
                        ledger.note("u", job["data"]["k"])
                    return
                time.sleep(0.05)
            if stopped.is_set():
                return

    while not stopped.is_set():
        bulk, jobs = plan.next_batch()
        for part in [jobs] if bulk else [[job] for job in jobs]:
            add(part)
        if plan.n // 500 > flow:
            flow += 1
            add_flow(flows, ledger, f"flow-{settings['name']}-{flow}", settings["queue"])
        pause(lambda: queue.get_waiting_count(), stopped, settings["pause"])


def add_flow(flows: FlowProducer, ledger: Ledger, key: str, queue: str) -> None:
    tree = renamed(flow_of(key, queue))
    try:
        flows.add(tree)
        fact = "a"
    except (*UNKNOWN, *REFUSED):
        fact = "u"
    for name in (key, f"{key}/1", f"{key}/2"):
        ledger.note(fact, name)


def renamed(node: dict[str, Any]) -> dict[str, Any]:
    """Return a flow with our names of options."""
    children = [renamed(child) for child in node.get("children", [])]
    made = {"name": node["name"], "queue_name": node["queueName"], "data": node["data"], "opts": snaked(node["opts"])}
    return {**made, "children": children} if children else made


def pause(waiting: Any, stopped: threading.Event, seconds: float) -> None:
    """Keep the backlog short."""
    stopped.wait(seconds)
    while not stopped.is_set():
        try:
            if waiting() < MOST_WAITING:
                return
        except (errors.BullrushError, OSError):
            pass
        stopped.wait(0.05)


async def run_tasks(url: str, ledger: Ledger, settings: dict[str, Any]) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    queue = aio.Queue(settings["queue"], url=url, timeout=settings["timeout"], **settings["options"])
    plan = Plan(settings["name"], settings["seed"], settings["bulk"])

    async def add(job: dict[str, Any]) -> None:
        own = "job_id" in job["opts"]
        while True:
            try:
                await queue.add(job["name"], job["data"], **job["opts"])
                return ledger.note("a", job["data"]["k"])
            except UNKNOWN:
                if not own:
                    return ledger.note("u", job["data"]["k"])
            except REFUSED:
                await asyncio.sleep(0.05)
            if stopped.is_set():
                return None

    while not stopped.is_set():
        _, jobs = plan.next_batch()
        await asyncio.gather(*map(add, jobs))
        await asyncio.sleep(settings["pause"])
        while not stopped.is_set():
            try:
                if await queue.get_waiting_count() < MOST_WAITING:
                    break
            except (errors.BullrushError, OSError):
                pass
            await asyncio.sleep(0.05)
    await queue.close()


def main(kind: str, url: str, ledger: str, settings: str) -> None:
    faulthandler.register(signal.SIGUSR1)
    logging.basicConfig(level=logging.WARNING)
    given, lines = json.loads(settings), Ledger(ledger)
    if kind == "aio":
        asyncio.run(run_tasks(url, lines, given))
        return
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    if kind == "spark":
        from rows import run_rows

        run_rows(url, lines, given, stopped)
        return
    run_threads(url, lines, given, stopped)


if __name__ == "__main__":
    main(*sys.argv[1:])
