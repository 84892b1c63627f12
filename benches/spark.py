"""How fast do jobs get from Spark into a queue, and from a queue through Spark's executors?

Spark runs with two local cores in one process tree. What it is compared with has no Spark: Node, which adds and works
the same jobs.
"""

from __future__ import annotations

import sys

from benches.contenders import node
from benches.harness.adding import Add
from benches.harness.contender import Contender
from benches.harness.processing import Process
from benches.harness.question import Question

_SPARK = (sys.executable, "-m", "benches.peers", "spark_peer")

QUESTIONS = (
    Question(
        name="spark_enqueue",
        title="Spark: jobs per second from a DataFrame into a queue",
        work=Add(ordered=False),
        contenders=(
            node("add_bulk", chunk=100),
            Contender("bullrush, enqueue(df)", _SPARK, "enqueue"),
        ),
        share=3.0,
    ),
    Question(
        name="spark_process",
        title="Spark: jobs per second from a queue through executors",
        work=Process(),
        contenders=(
            node("process", worker={"concurrency": 100}),
            Contender("bullrush, drain(spark)", _SPARK, "drain"),
        ),
        share=3.0,
    ),
)
