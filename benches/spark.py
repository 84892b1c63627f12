"""How fast do jobs get from Spark into a queue, from a queue through Spark's executors, and back into a frame?

Spark runs with two local cores in one process tree. The base of all ratios has no Spark: Node, which adds and works the
same jobs. The port to Python runs inside Spark's tasks, as its users would call it: one ``addBulk`` per 1,000 rows of
`foreachPartition`, one worker per partition of `mapPartitions`. The time of ``drain`` ends when it returns, not when
the last job is completed.
"""

from __future__ import annotations

import sys

from benches.contenders import NODE, node
from benches.harness.adding import Add
from benches.harness.contender import Contender
from benches.harness.goals import Times
from benches.harness.processing import Process
from benches.harness.question import Question

_SPARK = (sys.executable, "-m", "benches.peers", "spark_peer")
_PORT = (sys.executable, "-m", "benches.peers", "spark_bullmq_peer")
_ENQUEUE = "bullrush, enqueue(df)"
_DRAIN = "bullrush, drain(spark)"
_ADD_IN_SPARK = "BullMQ for Python in foreachPartition"
_WORK_IN_SPARK = "BullMQ for Python in mapPartitions"

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
)
