"""One round: servers and processes start, faults happen as the seed says, all ends, and then all must be right."""

import itertools
import json
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from redis import Redis, RedisError

from tests.faults.proxy import Proxy

from . import ending, users
from .awake import Awake
from .happened import Happened, Watch
from .heartbeat import Heartbeat
from .history import History
from .invariants import Findings, check
from .lanes import Lane
from .odd import OddQueue
from .plan import RoundPlan
from .processes import Process, Processes
from .server import Server, raw
from .topologies import TOPOLOGIES

#: Which processes work in a round: the kind, and the relay that it uses where there is a choice.
WORKERS = (("sync", "ours"), ("sync", "both"), ("aio", "ours"), ("cli", "both"), ("spark", "ours"), ("node", "both"))
PRODUCERS = (("sync", "producers"), ("aio", "producers"), ("spark", "producers"), ("node", "both"))
EVENTS = 100_000_000
#: Eleven processes start at the same time, on a machine that may do other things.
START_SECONDS = 120
#: How processes end that a job ends: with the code of `crash`, by SIGKILL, or by abort() when there is no memory for a
#: thread of ours.
ENDED_BY_JOBS = (13, -9, -6)


class Round:
    """Runs one round in a folder of its own."""

    def __init__(self, plan: RoundPlan, folder: Path, *, loud: bool = False) -> None:
        self.plan, self.folder, self._loud = plan, folder, loud
        folder.mkdir(parents=True, exist_ok=True)
        self.chance = random.Random(plan.seed)
        self.topology = TOPOLOGIES[plan.topology](folder / "servers", users.server_args() if plan.users else ())
        self.queue = self.topology.queue
        self.processes = Processes(folder, self.queue, self.topology.url, users=bool(plan.users))
        self.odd = OddQueue(self)
        self.happened: list[Happened] = []
        #: Processes that were asked to end while the round goes on.
        self.leaving: list[Process] = []
        self.findings = Findings()
        #: When another server had the queue, and which.
        self.moves: list[tuple[float, int]] = []
        #: Keys of the jobs that end their process. One that was asked to end may still have such a job in hand, and a
        #: task of Spark takes jobs until its time is over.
        self.deadly: set[str] = set()
        self._numbers = itertools.count()
        #: How many faults were chosen; set when there have been enough.
        self._chosen, self.enough = 0, threading.Event()
        self._lock = threading.Lock()
        self._lanes: list[Lane] = []
        self._gave_up = ""
        #: All processes have worked; a round that ends before says nothing.
        self.has_begun = False
        self.heartbeat = Heartbeat()
        self._acknowledged = (folder / "driver.ledger").open("a")  # closed in `close`

    # --- what faults use ------------------------------------------------------------------------------------------

    @property
    def odd_name(self) -> str:
        return self.odd.name

    def odd_job(self, data: dict[str, Any], **how: Any) -> str:
        return self.odd.add(data, **how)

    def odd_state(self, key: str) -> str | None:
        return self.odd.state(key)

    def relay_of_master(self) -> Proxy:
        return list(self.topology.relays.values())[self.topology.servers.index(self.topology.master)]

    def add(self, count: int, data: dict[str, Any], *, deadly: bool = False) -> set[str]:
        """Add jobs for a fault, at the front of the queue; return their keys. Deadly ones end their process."""
        keys = [f"fault-{self.plan.seed}-{next(self._numbers)}x" for _ in range(count)]
        if deadly:
            self.deadly.update(keys)
        self.add_raw(self.queue, [({"k": key, "ms": 0, **data}, key) for key in keys])
        lines = [f"a {time.monotonic_ns()} {key} - 0\n" for key in keys]
        with self._lock:
            self._acknowledged.writelines(lines)
            self._acknowledged.flush()
        return set(keys)

    def add_raw(self, queue: str, jobs: list[tuple[dict[str, Any], str]]) -> None:
        """Add jobs as BullMQ does, with plain commands that can be repeated."""
        base = f"bull:{queue}:"

        def add(redis: "Redis[str]") -> None:
            now = time.time_ns() // 1_000_000
            with redis.pipeline() as pipe:  # a transaction: all or nothing
                # A call that was given up may still be executed: without the watch, after the call that repeats it.
                pipe.watch(*(base + job_id for _, job_id in jobs))
                new = [(data, job_id) for data, job_id in jobs if not pipe.exists(base + job_id)]
                pipe.multi()
                for data, job_id in new:
                    stored = {
                        "name": "work",
                        "data": json.dumps(data),
                        "opts": json.dumps({"jobId": job_id, "attempts": 0}),
                    }
                    pipe.hset(base + job_id, mapping={**stored, "timestamp": now, "delay": 0, "priority": 0})
                    pipe.rpush(base + "wait", job_id)
                    pipe.xadd(base + "events", {"event": "added", "jobId": job_id, "name": "work"})
                    pipe.zadd(base + "marker", {"0": 0})
                pipe.execute()

        self.topology.retried(add)

    def begun_by(self, process: Process) -> set[str]:
        """Return the keys of the jobs of faults that a process has begun."""
        return process.followed.begun()

    def begun_elsewhere(self, process: Process) -> set[str]:
        """Return the keys of the jobs of faults that other processes have begun."""
        return set().union(*(other.followed.begun() for other in self.processes.all if other is not process))

    def insist(self, server: Server, *words: Any) -> None:
        """Run a command until it is taken, for the end of a fault."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and server.alive:
            try:
                with Redis(port=server.port, socket_timeout=5, decode_responses=True) as client:
                    client.execute_command(*words)
                return
            except RedisError as error:
                if "max number of clients" not in str(error) and "oading" not in str(error):
                    raw(server.client, *words)
                time.sleep(0.05)

    def start_producer(self, kind: str, relay: str = "producers") -> None:
        options = self.producer_options()
        if self.plan.durable:
            options["durable"] = "replica"
        self.processes.start_producer(
            kind,
            relay,
            {
                "seed": self.chance.randrange(2**30),
                "bulk": self.plan.bulk,
                "pause": self.plan.pause,
                "timeout": 5000,
                "options": options,
                "nodeOptions": self.node_options(),
            },
        )

    def producer_options(self) -> dict[str, Any]:
        """Return the options of our producers. No event is ever trimmed, since the final check reads them."""
        return {"streams": {"events": {"max_len": EVENTS}}}

    def node_options(self) -> dict[str, Any]:
        return {"streams": {"events": {"maxLen": EVENTS}}}

    # --- the round ------------------------------------------------------------------------------------------------

    def run(self) -> Findings:
        """Run it and return what was found."""
        try:
            self._start()
            watch, awake = Watch(self), Awake(self)
            self._make_faults()
            for step in (ending.drain, ending.probe, ending.end_ours, ending.let_node_finish):
                step(self)
                self.say(step.__name__)
            watch.end()
            awake.end()
            self.findings.looks, self.findings.asleep = awake.looks, awake.asleep
            for server in self.topology.servers if self.plan.users else ():
                if words := users.refused(server.client):
                    self.findings.wrong(f"a user was refused: {sorted(words)}")
            history = History.read(self)
            check(self, history)
            self.say("checked")
            self.findings.jobs = len(history.acknowledged)
        except Exception as error:
            self.findings.wrong(f"the round could not go on: {type(error).__name__}: {error}")
        finally:
            self.close()
        self.findings.faults.update(Counter(fault.name for fault in self.happened if fault.counts))
        return self.findings

    def close(self) -> None:
        self.enough.set()
        for lane in self._lanes:
            lane.join(120)
        self.heartbeat.end()
        self.processes.kill_all()
        self.topology.close()
        self._acknowledged.close()

    def say(self, text: str) -> None:
        if self._loud:
            print(f"  {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    def _start(self) -> None:
        # Before the first job, so that no event is ever trimmed: the final check reads them.
        for queue in (self.queue, self.odd.queue):
            self.topology.redis.hset(f"bull:{queue}:meta", mapping={"opts.maxLenEvents": EVENTS})
        for kind, relay in WORKERS:
            self.processes.start_worker(kind, relay)
        self.odd.start()
        for kind, relay in PRODUCERS:
            self.start_producer(kind, relay)
        try:
            self.wait(lambda: not self._idle(), START_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}, and these do not: {', '.join(self._idle())}") from None
        for process in self.processes.workers:
            process.early = process.footprint()
        self.has_begun = True
        self.say("all work")

    def _idle(self) -> list[str]:
        """Return the processes that have not added or begun a job yet."""
        some = [*self.processes.workers, *self.processes.producers]
        return [one.name for one in some if one is not self.odd.process and not one.followed.has_begun()]

    def end(self, processes: list[Process]) -> None:
        """Ask processes to end, and note what is wrong with how some did."""
        for process, wrong in self.processes.end(list(processes)).items():
            if not process.was_starting:
                self.findings.ended(process, wrong)

    def wait(self, condition: Any, seconds: float, what: str = "all workers work") -> None:
        began = time.monotonic()
        deadline = began + seconds
        while not condition():
            self._tick()
            if (now := time.monotonic()) > deadline and now - self.heartbeat.lost(began, now) > deadline:
                raise AssertionError(f"not within {seconds:.0f} s: {what}")
            time.sleep(0.05)

    def _make_faults(self) -> None:
        self._lanes = [Lane(self, faults, self.plan.pause_of(name)) for name, faults in self.plan.lanes().items()]
        while any(lane.is_alive() for lane in self._lanes):
            self._tick()
            time.sleep(0.05)
        if self._gave_up:
            raise AssertionError(self._gave_up)
        self.topology.settle()
        self.say("the faults are over")

    def wants_another(self) -> bool:
        """Return whether another fault is wanted, and count it."""
        with self._lock:
            if self._chosen >= self.plan.faults:
                self.enough.set()
            self._chosen += 1
        return not self.enough.is_set()

    def give_up(self, why: str) -> None:
        """End the round: a fault could not be made or ended."""
        self._gave_up = why
        self.enough.set()

    def _tick(self) -> None:
        """Replace processes that have ended."""
        for name in self.replace_ended():
            self._note_ended_by_job(name)
        self.leaving = [process for process in self.leaving if not self._has_left(process)]

    def _note_ended_by_job(self, name: str) -> None:
        # Which fault added that job is of no interest.
        now = time.monotonic()
        self.happened.append(Happened("worker ended by a job", now - 0.5, now, frozenset([name]), False, counts=False))

    def replace_ended(self) -> list[str]:
        """Replace processes that have ended, and return the names of those that worked on the main queue."""
        names = []
        for ended, follower in self.processes.replace_ended():
            code = ended.code
            is_odd = ended is self.odd.process
            if is_odd:
                self.odd.process = follower
            else:
                names.append(ended.name)
            # A changed reply may name a reason to give up.
            if code not in (*ENDED_BY_JOBS, *([1] if is_odd else [])):
                self.findings.wrong(f"{ended.name} ended by itself with {code}: {ended.said()}")
        return names

    def _has_left(self, process: Process) -> bool:
        if process.alive:
            return False
        if process.hung:  # it was killed, and that is noted
            return True
        code = process.code
        if code in ENDED_BY_JOBS and self.deadly & self.begun_by(process):
            self._note_ended_by_job(process.name)
        elif code and not process.was_starting:
            self.findings.wrong(f"{process.name} ended with {code} after SIGTERM: {process.said()}")
        return True
