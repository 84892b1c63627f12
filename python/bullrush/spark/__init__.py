"""Spark in front of a queue: DataFrames become jobs, executors work them, results become DataFrames.

Everything here works with classic sessions and with Spark Connect; only `worker` also has a form for RDDs. Executors need
this package, pyarrow and a route to Redis.
"""

from bullrush.spark.drain import drain
from bullrush.spark.enqueue import EnqueueStats, enqueue
from bullrush.spark.partition import worker
from bullrush.spark.progress import progress
from bullrush.spark.results import JobResult

__all__ = ["EnqueueStats", "JobResult", "drain", "enqueue", "progress", "worker"]
