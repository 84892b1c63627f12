"""Redis denies a worker one command and allows it again later: every job completes, and none stalls.

Each command that the work needs has its own queue, user and worker, all at the same time.
"""

import threading
import time
from collections import Counter

from redis import Redis

from bullrush import FlowProducer, Job, Queue, Worker
from tests.waiting import wait_until

# Commands that a connection sends by itself.
NOT_OF_WORK = {
    "hello",
    "auth",
    "client",
    "config",
    "info",
    "evalsha",
    "script",
    "acl",
    "ping",
    "select",
    "role",
    "command",
}
JOBS = 3
MANY = 50
LISTS = ("wait", "paused", "active")
SETS = ("prioritized", "delayed", "completed", "failed", "waiting-children")


class Case:
    """A worker that waits for three jobs, and a user who may be denied a command."""

    def __init__(self, redis: Redis, url: str, command: str, fails: bool, run: str | None) -> None:
        self.redis, self.command, self.fails, self.run = redis, command, fails, run
        self.name = f"q-{command.replace('|', '-')}"
        self.base = f"bull:{self.name}:"
        self.ids = [str(number) for number in range(1, JOBS + 1)]
        self.gate, self.runs, self.errors = threading.Event(), Counter[str](), list[str]()
        self._acl("reset", "on", ">secret", "~*", "&*", "+@all")
        self.queue = Queue(self.name, url=url)
        address = url.replace("redis://", f"redis://{self.name}:secret@")
        times = {"lock_duration": 60_000, "stalled_interval": 200, "drain_delay": 200}
        self.worker = Worker(self.name, self.work, url=address, concurrency=JOBS, run=run, **times)
        self.worker.on("error", lambda error: self.errors.append(str(error)))
        self.ready = threading.Event()
        self.worker.on("ready", self.ready.set)
        self.working = threading.Thread(target=self.worker.run)
        self.working.start()

    def _acl(self, *rules: str) -> None:
        self.redis.execute_command("ACL", "SETUSER", self.name, *rules)

    def work(self, job: Job) -> int:
        self.runs[str(job.id)] += 1
        self.gate.wait(30)
        if self.fails and self.runs[str(job.id)] == 1:
            raise ValueError("the first attempt fails")
        return 1

    def add(self, **opts: object) -> None:
        self.queue.add_bulk([{"name": "n", "opts": opts}] * JOBS)

    def deny(self) -> None:
        if self.command:
            self._acl(f"-{self.command}")

    def allow(self) -> None:
        self._acl("+@all")

    @property
    def done(self) -> bool:
        return self.redis.zcard(f"{self.base}completed") == JOBS

    @property
    def places(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in LISTS:
            for job_id in self.redis.lrange(self.base + name, 0, -1):
                found.setdefault(job_id, []).append(name)
        for name in SETS:
            for job_id in self.redis.zrange(self.base + name, 0, -1):
                found.setdefault(job_id, []).append(name)
        return found

    def verdict(self, runs: int, stalls: int) -> str | None:
        """Return what is wrong in the end."""
        completed = {job_id: ["completed"] for job_id in self.ids}
        stalled = {job_id: int(self.redis.hget(self.base + job_id, "stc") or 0) for job_id in completed}
        if self.places != completed:
            return f"{self.places}, errors {sorted(set(self.errors))[:3]}"
        if max(stalled.values()) > stalls:
            return f"stalled {stalled}"
        if sum(self.runs.values()) > runs:
            return f"runs {dict(self.runs)}"
        listed = sorted(self.redis.lrange(f"{self.base}ext:run-{self.run}", 0, -1))
        if self.run and listed != self.ids:
            return f"listed {listed}"
        return None

    def close(self) -> None:
        self.gate.set()
        self.worker.close(timeout=1000)
        self.working.join()


class Trial:
    """The cases of one test: first one without a denial, which tells the commands, then one per command."""

    def __init__(
        self, redis: Redis, url: str, fails: bool = False, runs: int = JOBS, stalls: int = 0, run: str | None = None
    ) -> None:
        self.redis, self.url, self.fails, self.runs, self.stalls, self.run = redis, url, fails, runs, stalls, run

    def faults(self, before, after) -> dict[str, str]:
        """Return what went wrong, by command. `before` runs before the denial begins, `after` right after it."""
        self.redis.config_resetstat()
        self._faults_of([""], before, after)
        used = {name.removeprefix("cmdstat_") for name in self.redis.info("commandstats")}
        return self._faults_of(sorted(name for name in used if name.split("|")[0] not in NOT_OF_WORK), before, after)

    def _faults_of(self, commands: list[str], before, after) -> dict[str, str]:
        cases = [Case(self.redis, self.url, command, self.fails, self.run) for command in commands]
        try:
            wait_until(lambda: all(case.ready.is_set() for case in cases), "all are ready")
            for case in cases:
                before(case)
            for case in cases:
                case.deny()
                after(case)
            ends = time.monotonic() + 2  # some denied commands have no effect within this time
            while time.monotonic() < ends and not all(case.errors or case.done for case in cases):
                time.sleep(0.01)
            for case in cases:
                case.allow()
                case.gate.set()
            ends = time.monotonic() + 30
            while time.monotonic() < ends and not all(case.done for case in cases):
                time.sleep(0.01)
            verdicts = {case.command: case.verdict(self.runs, self.stalls) for case in cases}
            return {command: verdict for command, verdict in verdicts.items() if verdict}
        finally:
            for case in cases:
                case.close()


def begun(case: Case, **opts: object) -> None:
    case.add(**opts)
    wait_until(lambda: sum(case.runs.values()) == JOBS, "all jobs have begun")


def release(case: Case) -> None:
    case.gate.set()


def test_jobs_are_fetched(server, own_redis):
    def add(case: Case) -> None:
        case.gate.set()
        case.add()

    assert Trial(own_redis, server.url).faults(lambda case: None, add) == {}


def test_jobs_complete(server, own_redis):
    assert Trial(own_redis, server.url).faults(begun, release) == {}


def test_jobs_of_a_run_are_listed_once(server, own_redis):
    assert Trial(own_redis, server.url, run="nightly").faults(begun, release) == {}


def test_parents_go_on_when_their_children_complete(server, own_redis):
    def children_begun(case: Case) -> None:
        child = {"name": "n", "queue_name": case.name}
        with FlowProducer(url=server.url) as flows:
            root = flows.add({**child, "children": [child] * (JOBS - 1)})
        case.ids = [root.job.id, *(node.job.id for node in root.children)]
        wait_until(lambda: sum(case.runs.values()) == JOBS - 1, "all children have begun")

    assert Trial(own_redis, server.url).faults(children_begun, release) == {}


def test_jobs_are_retried_at_once(server, own_redis):
    trial = Trial(own_redis, server.url, fails=True, runs=2 * JOBS)
    assert trial.faults(lambda case: begun(case, attempts=2), release) == {}


def test_jobs_are_retried_later(server, own_redis):
    trial = Trial(own_redis, server.url, fails=True, runs=2 * JOBS)
    assert trial.faults(lambda case: begun(case, attempts=2, backoff=50), release) == {}


def test_stalled_jobs_run(server, own_redis):
    """The jobs look like those of a killed worker, so each counts one stall."""

    def abandon(case: Case) -> None:
        case.gate.set()
        with own_redis.pipeline(transaction=True) as all_at_once:
            for job_id in map(str, range(1, JOBS + 1)):
                fields = {"name": "n", "data": "{}", "opts": "{}", "timestamp": 1, "delay": 0, "priority": 0, "ats": 1}
                all_at_once.hset(case.base + job_id, mapping=fields)
                all_at_once.lpush(f"{case.base}active", job_id)
                all_at_once.sadd(f"{case.base}stalled", job_id)
            all_at_once.execute()

    assert Trial(own_redis, server.url, stalls=1).faults(lambda case: None, abandon) == {}


def test_a_start_is_counted_although_it_could_not_be_stored_at_once(server, own_redis):
    """The last of many jobs is prefetched.

    When its first attempt fails, HSET is denied, so its hash cannot be written.
    """
    denied = threading.Event()

    def user(*rules: str) -> None:
        own_redis.execute_command("ACL", "SETUSER", "starts", *rules)

    def work(job: Job) -> None:
        if job.id == str(MANY) and not denied.is_set():
            user("-hset")
            denied.set()
            raise ValueError("the first attempt fails")

    user("reset", "on", ">secret", "~*", "&*", "+@all")
    url = server.url.replace("redis://", "redis://starts:secret@")
    with Queue("starts", url=server.url) as queue:
        queue.add_bulk([{"name": "n", "opts": {"attempts": 2}}] * MANY)
        with Worker("starts", work, url=url, autorun=True) as worker:
            worker.on("error", lambda error: user("+hset"))
            wait_until(lambda: own_redis.zcard("bull:starts:completed") == MANY, "all are completed")
    assert own_redis.hget(f"bull:starts:{MANY}", "ats") == "2"
