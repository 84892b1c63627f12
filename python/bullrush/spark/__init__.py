"""Spark and queues: DataFrames become jobs, executors run them, results become DataFrames.

Everything works with classic sessions and with Spark Connect; `worker` also works with RDDs. Executors need this
package, pyarrow and access to Redis.
"""

from bullrush.spark.call import call
from bullrush.spark.drain import drain
from bullrush.spark.enqueue import EnqueueStats, enqueue
from bullrush.spark.flows import FlowStats, enqueue_flows
from bullrush.spark.partition import worker
from bullrush.spark.progress import progress
from bullrush.spark.reading.read_jobs import read_jobs
from bullrush.spark.results import JobResult
from bullrush.spark.tasks.arrow_handler import arrow_handler

__all__ = [
    "EnqueueStats",
    "FlowStats",
    "JobResult",
    "arrow_handler",
    "call",
    "drain",
    "enqueue",
    "enqueue_flows",
    "progress",
    "read_jobs",
    "worker",
]
