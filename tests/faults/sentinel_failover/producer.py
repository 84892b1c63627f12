"""A producer in a process of its own: adds jobs at a rate until its input ends.

usage: python producer.py URL QUEUE RATE FILE

Each job whose add has returned is a line of the file: its number, and the time of the answer.
"""

import asyncio
import contextlib
import sys
import time
from pathlib import Path
from typing import TextIO

from bullrush import aio, errors

#: Calls at once. More do not help: their jobs are added one after the other.
AT_ONCE = 200
#: Seconds between two looks at the clock.
TICK = 0.005


async def produce(url: str, queue: str, rate: float, acknowledged: TextIO) -> None:
    """Add jobs until the input ends, at most `AT_ONCE` at a time: calls that came too late are not made up for."""
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    async with aio.Queue(queue, url=url, timeout=60_000) as jobs:

        async def add(number: int) -> None:
            # Without an answer nobody knows: it does not count.
            with contextlib.suppress(errors.OutcomeUnknownError):
                await jobs.add("any", job_id=f"job-{number}")
                acknowledged.write(f"{number} {time.monotonic():.3f}\n")

        running: set[asyncio.Task[None]] = set()
        begun, due = 0, time.monotonic()
        while not ended.done():
            now = time.monotonic()
            while due <= now and len(running) < AT_ONCE:
                task = asyncio.create_task(add(begun))
                running.add(task)
                task.add_done_callback(running.discard)
                begun, due = begun + 1, due + 1 / rate
            due = max(due, now - TICK)
            acknowledged.flush()
            await asyncio.sleep(TICK)
        await asyncio.gather(*running)


def main() -> None:
    url, queue, rate, file = sys.argv[1:]
    with Path(file).open("w") as acknowledged:
        asyncio.run(produce(url, queue, float(rate), acknowledged))


if __name__ == "__main__":
    main()
