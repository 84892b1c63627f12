"""What goes wrong in queues, planted on a real Redis with real workers: for the dashboard's tests, pictures and demo.

``python -m tests.boards.incidents`` plants all of it, and opens the dashboard.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from redis import Redis

from bullrush import FlowProducer, Queue, Worker
from bullrush.embedded import EmbeddedRedis
from bullrush.errors import RedisServerError
from bullrush.testing import Clock
from tests.waiting import wait_until

_SECOND = 1_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_ROUNDS = 10


class Incidents:
    """Plants incidents, and keeps the workers running that belong to them."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        """Take where to plant, and what ends the workers."""
        self.url = url
        self._stack = stack
        self._redis: Redis = stack.enter_context(Redis.from_url(url, decode_responses=True))
        #: Lets what hangs or repeats end, before its worker is closed.
        self.ended = threading.Event()
        self._clock = Clock()
        self._now = self._clock.now

    @contextmanager
    def ago(self, milliseconds: int) -> Iterator[None]:
        """Let the block happen in the past, for what takes its times from the clock of its program."""
        with self._clock:
            self._clock.stop(self._now - milliseconds)
            yield

    def queue(self, name: str) -> Queue:
        """Return a queue."""
        return self._stack.enter_context(Queue(name, url=self.url))

    def work(self, name: str, handler: Callable[[Any], Any], **options: Any) -> Worker:
        """Let a worker run until the end."""
        given = {"url": self.url, "name": f"{name}-1", "autorun": True, **options}
        worker = self._stack.enter_context(Worker(name, handler, **given))
        worker.wait_until_ready()
        return worker

    def feed(self, queue: Queue, pause: float, add: Callable[[int], None]) -> None:
        """Add jobs until the end."""

        def run() -> None:
            number = 0
            while not self.ended.wait(pause):
                add(number)
                number += 1

        feeder = threading.Thread(target=run, name=f"feed {queue.name}", daemon=True)
        feeder.start()
        self._stack.callback(feeder.join)

    def past_events(self, queue: str, minutes: int, count: Callable[[int], tuple[int, int]]) -> None:
        """Write what a queue did in minutes of which a recorder will hear: so many completed, and so many failed."""
        pipeline = self._redis.pipeline(transaction=False)
        for ago in range(minutes, 0, -1):
            completed, failed = count(ago)
            begin = self._now - ago * _MINUTE
            for number in range(completed + failed):
                at, job = begin + number * _MINUTE // (completed + failed), f"past-{ago}-{number}"
                ended = "completed" if number < completed else "failed"
                for place, event in enumerate(("added", "active", ended)):
                    fields: dict[Any, Any] = {"event": event, "jobId": job, "name": "past", "prev": "active"}
                    fields |= {"failedReason": "the disk is full"} if event == "failed" else {}
                    pipeline.xadd(f"bull:{queue}:events", fields, id=f"{at}-{number * 3 + place}")
        pipeline.execute()

    # --- one method for each incident -----------------------------------------------------------------------------

    def failures_of_three_errors(self) -> None:
        """2,000 jobs failed within the last hour, of three causes."""
        mail = self.queue("mail")

        def send(job: Any) -> None:
            match job.data["user"] % 10:
                case 0:
                    raise KeyError("template")
                case 1 | 2:
                    raise TimeoutError(f"smtp-{job.data['user'] % 4}.example.org did not answer in 30 s")
                case _:
                    raise ValueError(f"user {job.data['user']} has no address")

        for part in range(_ROUNDS):
            with self.ago(_MINUTE * (50 - 5 * part)):
                users = range(part * 200, (part + 1) * 200)
                mail.add_bulk([{"name": "welcome", "data": {"user": user}} for user in users])
                with Worker("mail", send, url=self.url, concurrency=20) as worker:
                    worker.run(until="empty")
        # The stream has the times of Redis, at which all of it happened in a few seconds.
        self._redis.delete("bull:mail:events")
        self.past_events("mail", 30, lambda ago: (8 + ago % 5, 3 + ago % 7))
        self.work("mail", lambda job: None)
        self.feed(mail, 0.5, lambda number: _add_and_forget(mail, "digest", {"user": number}))

    def poison_job(self) -> None:
        """A job takes its worker with it, each time it is run."""
        invoices = self.queue("invoices")
        invoices.add("print", {"invoice": 4711, "pages": 900_000})
        with Worker("invoices", url=self.url, lock_duration=_SECOND) as lost:
            assert lost.get_next_job("lost") is not None
        self.work("invoices", lambda job: None, stalled_interval=_SECOND, max_stalled_count=0)
        wait_until(lambda: invoices.get_failed_count() == 1)

    def no_worker(self) -> None:
        """Jobs wait, and nobody is there."""
        with self.ago(22 * _MINUTE):
            self.queue("video").add_bulk([{"name": "encode", "data": {"film": film}} for film in range(340)])

    def forgotten_pause(self) -> None:
        """Somebody has paused a queue, and has gone home."""
        reports = self.queue("reports")
        with self.ago(3 * _HOUR):
            reports.add_bulk([{"name": "monthly", "data": {"customer": one}} for one in range(58)])
        reports.pause()
        self.work("reports", lambda job: None)

    def rate_limit(self) -> None:
        """More is added than may start."""
        sms = self.queue("sms")
        sms.set_global_rate_limit(10, _MINUTE)
        sms.add_bulk([{"name": "code", "data": {"number": one}} for one in range(240)])
        self.work("sms", lambda job: None)
        wait_until(lambda: sms.get_completed_count() == 10)

    def hung_slots(self) -> None:
        """All slots are held by jobs that wait for something that does not come."""
        uploads = self.queue("uploads")
        uploads.set_global_concurrency(4)
        with self.ago(25 * _MINUTE):
            uploads.add_bulk([{"name": "to-archive", "data": {"file": f"{one}.tar"}} for one in range(44)])
            self.work("uploads", lambda job: self.ended.wait(), concurrency=8)
            wait_until(lambda: uploads.get_active_count() == 4)

    def hung_worker(self) -> None:
        """A worker runs a job that does not end, and no other one is there."""
        scans = self.queue("scans")
        with self.ago(25 * _MINUTE):
            scans.add_bulk([{"name": "scan", "data": {"page": one}} for one in range(3)])
            self.work("scans", lambda job: self.ended.wait())
            wait_until(lambda: scans.get_active_count() == 1)

    def deaf_worker(self) -> None:
        """A worker is connected, and does not wait for jobs."""
        letters = self.queue("letters")
        self.work("letters", lambda job: None, autorun=False)
        with self.ago(12 * _MINUTE):
            letters.add_bulk([{"name": "letter", "data": {"to": one}} for one in range(5)])

    def failed_child(self) -> None:
        """An order waits for its only part, which has failed."""

        def pack(job: Any) -> None:
            raise ValueError("no boxes")

        part = {"name": "pack", "queue_name": "stock"}
        with FlowProducer(url=self.url) as flows:
            flows.add({"name": "order", "queue_name": "orders", "children": [part]})
        self.work("stock", pack)
        self.work("orders", lambda job: None)
        wait_until(lambda: self.queue("stock").get_failed_count() == 1)

    def full_redis(self) -> None:
        """Redis takes no more."""
        logs = self.queue("logs")
        self._redis.config_set("maxmemory", int(self._redis.info("memory")["used_memory"]) + (8 << 20))
        with suppress(RedisServerError):
            while True:
                logs.add("line", {"text": "x" * (1 << 16)})

    def broken_scheduler(self) -> None:
        """The next job of a scheduler was deleted by hand, so none will follow."""
        billing = self.queue("billing")
        job = billing.upsert_job_scheduler(
            "nightly", {"pattern": "0 3 * * *", "tz": "Europe/Berlin"}, {"name": "close"}
        )
        self._redis.delete(f"bull:billing:{job.id}")
        self._redis.zrem("bull:billing:delayed", job.id)
        self.work("billing", lambda job: None)

    def target_without_worker(self) -> None:
        """Jobs need a graphics card, and no worker has one."""
        render = self.queue("render")
        with self.ago(40 * _MINUTE):
            render.add_bulk(
                [
                    {"name": "frame", "data": {"frame": one}, "opts": {"target": {"capabilities": ["gpu"]}}}
                    for one in range(12)
                ]
            )
        self.work("render", lambda job: None)

    def slow_name(self) -> None:
        """One name takes 50 times as long as the others."""
        search = self.queue("search")
        self.work("search", lambda job: time.sleep(1.0 if job.name == "reindex" else 0.02), concurrency=4)
        self.feed(
            search,
            0.2,
            lambda number: _add_and_forget(search, "reindex" if number % 20 == 7 else "index", {"n": number}),
        )

    def healthy(self) -> None:
        """Nothing is wrong here, and much goes on."""
        thumbnails = self.queue("thumbnails")
        self.past_events("thumbnails", 30, lambda ago: (60 + 30 * (ago % 6), 1 if ago == 11 else 0))
        self.work("thumbnails", lambda job: time.sleep(0.01), concurrency=4)
        self.feed(thumbnails, 0.05, lambda number: _add_and_forget(thumbnails, "scale", {"picture": number}))

    def busy(self, queues: Iterable[str]) -> None:
        """Nothing is wrong in any of these."""
        for name in queues:
            queue = self.queue(name)
            self.work(name, lambda job: time.sleep(0.005), concurrency=4)
            self.feed(queue, 0.2, lambda number, queue=queue: _add_and_forget(queue, "x", {}))

    def flow_with_retries(self) -> str:
        """An order waits for its parts, fails twice, and completes; return its id."""
        orders = self.queue("orders")

        def handle(job: Any) -> dict[str, Any]:
            time.sleep(0.12)
            if job.name == "order" and job.attempts_made < 2:
                job.log(f"the bank says no, attempt {job.attempts_made + 1}")
                raise ConnectionError(f"bank-{job.attempts_made}.example.org: connection refused")
            return {"paid": True}

        part = {"name": "reserve", "queue_name": "stock", "data": {"article": 7}}
        retried = {"attempts": 3, "backoff": {"type": "exponential", "delay": 400}}
        with FlowProducer(url=self.url) as flows:
            root = flows.add(
                {
                    "name": "order",
                    "queue_name": "orders",
                    "data": {"customer": "Ada", "total": 129.9},
                    "opts": retried,
                    "children": [
                        {"name": "pack", "queue_name": "stock", "data": {"boxes": 2}, "children": [part, part]},
                        part,
                    ],
                }
            )
        self.work("stock", handle)
        self.work("orders", handle)
        wait_until(lambda: root.job.get_state() == "completed")
        assert orders.name == root.job.queue_name
        return root.job.id


def _add_and_forget(queue: Queue, name: str, data: dict[str, Any]) -> None:
    queue.add(name, data, remove_on_complete=100)


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Say nothing of what fails in the block: these are thousands of jobs."""
    logger = logging.getLogger("bullrush")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def planting(url: str) -> Iterator[Incidents]:
    """Return what plants incidents; they end with the block."""
    with quiet_logs(), ExitStack() as stack:
        planted = Incidents(url, stack)
        try:
            yield planted
        finally:
            planted.ended.set()


@contextmanager
def incidents(url: str) -> Iterator[dict[str, str]]:
    """Plant the incidents of the demo, and return the ids of some jobs by their queues."""
    with planting(url) as planted:
        # Those of the past first: the clock is that of all workers here.
        planted.no_worker()
        planted.forgotten_pause()
        planted.target_without_worker()
        planted.hung_slots()
        planted.failures_of_three_errors()
        planted.healthy()
        planted.slow_name()
        planted.rate_limit()
        planted.broken_scheduler()
        planted.poison_job()
        yield {"orders": planted.flow_with_retries()}


@contextmanager
def serving(url: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve the dashboard as its command does, and return its process and the address that it says."""
    command = [sys.executable, "-m", "bullrush", "dashboard", url, "--json", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            yield served, json.loads(served.stdout.readline())["url"]
        finally:
            served.terminate()


@contextmanager
def dashboard(url: str, *options: str) -> Iterator[str]:
    """Serve the dashboard, and return the link that lets in."""
    with serving(url, *options) as (_, link):
        yield link


def main() -> None:
    """Plant the incidents and open the page, until Ctrl-C."""
    with (
        tempfile.TemporaryDirectory() as folder,
        EmbeddedRedis(port=0, password="") as server,
        incidents(server.url),
        dashboard(server.url, "--history", f"{folder}/history.db") as link,
    ):
        print(f"The dashboard: {link}\nThe link works once: open it if no browser does. Ctrl-C ends all.", flush=True)
        webbrowser.open(link)
        threading.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()
