"""Celery as a peer: its own worker command, a process per core, results ignored, 100 messages prefetched by each.

The worker starts before it gets the queue of the jobs, so that its start is not measured. Its processes write a byte
per job into a pipe.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any

from celery import Celery
from redis import Redis

from benches.peers import blocking, channel
from benches.peers.channel import Order

_PIPE = "BENCH_CELERY_PIPE"
app = Celery("bench", broker=os.environ.get("BENCH_CELERY_URL"))
app.conf.update(
    task_ignore_result=True,
    worker_prefetch_multiplier=100,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="handle")  # type: ignore[untyped-decorator]
def handle(data: dict[str, Any]) -> None:
    sent = data.get("sent")
    late = f"{time.monotonic_ns() / 1000 - sent:.0f}" if sent else ""
    os.write(int(os.environ[_PIPE]), f"{late}\n".encode())


def adder(order: Order) -> blocking.AddOne:
    client = Celery("bench", broker=order["url"])
    producer = client.amqp.Producer(client.connection_for_write())
    shared = {} if order["task"] == "add_concurrent" else {"producer": producer}
    return lambda data: client.send_task("handle", (data,), queue=order["queue"], ignore_result=True, **shared)


def process(order: Order) -> None:
    reading, writing = os.pipe()
    environment = {**os.environ, _PIPE: str(writing), "BENCH_CELERY_URL": order["url"]}
    cores = str(os.cpu_count() or 1)
    command = [sys.executable, "-m", "celery", "-A", "benches.peers.celery_peer", "worker", "-Q", "idle", "-l", "ERROR"]
    worker = subprocess.Popen(
        [*command, "-c", cores, "-O", "fair", "--without-gossip", "--without-mingle"],
        env=environment,
        pass_fds=[writing],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.close(writing)
    control = Celery("bench", broker=order["url"]).control
    while not control.ping(timeout=0.2):
        if worker.poll() is not None:
            sys.exit("celery's worker does not start")
    latencies: list[str] = []
    tallying = threading.Thread(target=_tally, args=(reading, order["jobs"], latencies))
    tallying.start()
    channel.ready()
    control.add_consumer(order["queue"], reply=False)
    channel.wait_for_stop()
    worker.terminate()
    worker.wait()
    tallying.join()
    channel.done(handled=len(latencies), latencies=[float(late) for late in latencies if late])


def _tally(reading: int, jobs: int, latencies: list[str]) -> None:
    with os.fdopen(reading) as lines:
        for line in lines:
            latencies.append(line.strip())
            if len(latencies) == jobs:
                channel.handled()


def count(order: Order) -> None:
    with Redis.from_url(order["url"]) as client:
        waiting = client.llen(order["queue"])
    channel.ready()
    channel.done(waiting=waiting)


def main() -> None:
    channel.serve("celery", {**blocking.tasks(adder), "process": process, "count": count})
