"""What handlers do that fork: for the programs of the fleet and of the fault suite."""

import os
import signal
import sys

from bullrush import Queue


def look_from_a_fork(queue: str, url: str) -> None:
    """Use a queue in a forked child, which ends after 5 s at the latest.

    This process continues whatever happens there.
    """
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    signal.alarm(5)
    try:
        Queue(queue, url=url, timeout=3000, streams={"events": {"max_len": 100_000_000}}).get_job_counts()
    except Exception as error:
        print("in a fork:", repr(error)[:300], file=sys.stderr)
    finally:
        os._exit(0)
