"""A server that does not answer keeps nobody who wants to end."""

import asyncio
import os
import signal
import threading
import time
from contextlib import suppress

import pytest

from bullrush import Queue, Worker, aio
from bullrush.errors import JobWaitTimeoutError
from tests.waiting import wait_until
from tests.watching import waiting_workers


def test_a_call_by_hand_that_waits_for_a_job_ends_soon_after_its_worker_was_closed(server, own_redis):
    worker = Worker("work", url=server.url, drain_delay=600_000)
    waiting = threading.Thread(target=worker.get_next_job, args=("token",))
    waiting.start()
    wait_until(lambda: waiting_workers("work", own_redis) == 1, "it waits")
    os.kill(server.pid, signal.SIGSTOP)
    try:
        worker.close()
        waiting.join(15)
        assert not waiting.is_alive()
    finally:
        os.kill(server.pid, signal.SIGCONT)
    waiting.join()


@pytest.mark.parametrize("via", ["poll", "events", "notify"])
def test_a_wait_for_a_result_ends_in_time(server, via):
    with Queue("work", url=server.url) as queue:
        job = queue.add("slow", wake=True)
        with suppress(JobWaitTimeoutError):
            job.wait_until_finished(timeout=1, via=via)  # has its connections
        os.kill(server.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            with pytest.raises(JobWaitTimeoutError, match="after 300ms"):
                job.wait_until_finished(timeout=300, via=via)
            assert 0.3 <= time.monotonic() - began < 2
        finally:
            os.kill(server.pid, signal.SIGCONT)


def test_a_wait_for_a_result_ends_in_time_on_an_event_loop(server):
    async def wait() -> float:
        async with aio.Queue("work", url=server.url) as queue:
            job = await queue.add("slow")
            os.kill(server.pid, signal.SIGSTOP)
            try:
                began = time.monotonic()
                with pytest.raises(JobWaitTimeoutError, match="after 300ms"):
                    await job.wait_until_finished(timeout=300)
                return time.monotonic() - began
            finally:
                os.kill(server.pid, signal.SIGCONT)

    assert 0.3 <= asyncio.run(wait()) < 2
