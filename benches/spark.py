"""How fast do jobs get from Spark into a queue, from a queue through Spark's executors, and back into a frame?

Spark runs with two local cores in one process tree. For adding and processing the base of the ratios has no Spark:
Node, which adds and works the same jobs. The port to Python runs inside Spark's tasks, as its users would call it: one
``addBulk`` per 1,000 rows of `foreachPartition`, one worker per partition of `mapPartitions`. The time of ``drain``
ends when it returns, not when the last job is completed. Reading has a goal of its own, since nobody else reads queues
into frames. Two servers are compared with one, each of which takes the same number of calls per second.
"""

from __future__ import annotations

import sys

from benches.contenders import NODE, node
from benches.harness.adding import Add
from benches.harness.contender import RATE, SERVER_US, Contender
from benches.harness.goals import AtLeast, Times
from benches.harness.processing import Process
from benches.harness.question import Question
from benches.harness.reading import Read
from benches.harness.servers import AddOverServers

_SPARK = (sys.executable, "-m", "benches.peers", "spark_peer")
_PORT = (sys.executable, "-m", "benches.peers", "spark_bullmq_peer")
_ENQUEUE = "bullrush, enqueue(df)"
_DRAIN = "bullrush, drain(spark)"
_ADD_IN_SPARK = "BullMQ for Python in foreachPartition"
_WORK_IN_SPARK = "BullMQ for Python in mapPartitions"
_READ = "bullrush, read_jobs(spark)"
_ONE = "bullrush, enqueue(df, urls=[one])"
_TWO = "bullrush, enqueue(df, urls=[one, two])"
#: One server then takes about 25,000 jobs per second, far less than Spark sends here. Greetings of connections are
#: calls,
#: too: with few jobs they would count for more than they cost.
_CALLS_PER_SECOND = 100

QUESTIONS = (
    Question(
        name="spark_enqueue",
        title="Spark: jobs per second from a DataFrame into a queue",
        work=Add(ordered=False),
        contenders=(
            node("add_bulk", chunk=100),
            Contender(_ADD_IN_SPARK, _PORT, "enqueue", share=0.5),
            Contender(_ENQUEUE, _SPARK, "enqueue"),
        ),
        goals=(Times(_ENQUEUE, NODE, 3.3), Times(_ENQUEUE, _ADD_IN_SPARK, 3)),
        share=6.0,
    ),
    Question(
        name="spark_process",
        title="Spark: jobs per second from a queue through executors, until the call returns",
        work=Process(),
        contenders=(
            node("process", worker={"concurrency": 100}),
            Contender(_WORK_IN_SPARK, _PORT, "drain", share=0.1),
            Contender(_DRAIN, _SPARK, "drain", returns=True),
        ),
        goals=(Times(_DRAIN, NODE, 2), Times(_DRAIN, _WORK_IN_SPARK, 10)),
        share=6.0,
    ),
    Question(
        name="spark_read",
        title="Spark: rows per second from a million finished jobs into a frame, with their data",
        work=Read(),
        contenders=(Contender(_READ, _SPARK, "read"),),
        goals=(AtLeast(_READ, RATE, 150_000),),
        figures=(RATE, SERVER_US),
        share=1_000_000 / 30_000,
        rounds=2,
        max_seconds=120,
    ),
    Question(
        name="spark_servers",
        title="Spark: jobs per second from a DataFrame into servers that take "
        f"{_CALLS_PER_SECOND} calls per second each",
        work=AddOverServers(_CALLS_PER_SECOND),
        contenders=(
            Contender(_ONE, _SPARK, "enqueue", {"servers": 1}),
            Contender(_TWO, _SPARK, "enqueue", {"servers": 2}),
        ),
        goals=(Times(_TWO, _ONE, 1.8),),
        share=40.0,
        rounds=2,
        max_seconds=120,
    ),
)
