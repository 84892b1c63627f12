"""How many commands a script may run: goals that `tests/lua/test_calls.py` holds, the same on every machine.

A command in a script costs the server about 2 us beside its own work; an empty script takes 2.5 us (Redis 7.0.15). But
fewer commands are not always less work: HGETALL in place of HMGET and HLEN, one command less for each job that is
fetched, took 4 % more instructions of Redis at concurrency 100, since its reply has the names, too. So a change here
is also counted with `python -m benches --instructions`.
"""

from __future__ import annotations

#: BullMQ for Node 5.62.0 needs 8 for an add and 23 for a turn of one job, or of each of many.
GOALS = {
    "add": 7,
    # A turn: one call finishes jobs and fetches as many others, which start at once.
    "turn of 1": 17,
    "turn of 10, per job": 9.2,
    "turn of 4 of 10, per job": 11.3,
    "turn of 100, per job": 8.13,
    # Of these, 7 are a job's own, and each writes or reads what only that job has: HLEN, HSET and XADD when it ends,
    # HMGET, HLEN, PSETEX and XADD when it is fetched. One that starts at once has an HSET more.
    "turn of 100 that were claimed ahead, per job": 7.12,
    # What a worker needs: its calls have as many jobs as happen to end together. At concurrency 100 four jobs of ten
    # start at once, which is 0.4, and about 40 jobs share what a call needs beside them, which is 0.3.
    "job at concurrency 10": 10,
    "job at concurrency 100, prefetch=0": 8.3,
    "job at concurrency 100": 8.1,
    "stalled check beside its jobs": 16,
}
