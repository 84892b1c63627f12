"""A server that does not answer keeps nobody who wants to end."""

import os
import signal
import threading

from bullrush import Worker
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
