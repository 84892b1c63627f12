"""The partitions of an RDD add jobs, and the partitions of another one are the workers that run them.

Needs ``pip install 'bullrush[spark,embedded]'``. RDDs need a classic session; with Spark Connect ``mapInArrow`` takes
the same function of `worker`.
"""

import os
import sys

from pyspark.sql import SparkSession

from bullrush import Queue
from bullrush.embedded import resolve
from bullrush.spark import worker
from bullrush.spark.java import use_java

# A private server, started here once: the tasks get its address. With your own: URL = "redis://10.0.0.5:6379/0"
URL = resolve("embedded://")


def add_readings(rows):
    """Add a job for each row of a partition; this runs on the executors."""
    # Opened in the task: a queue cannot be sent to it. Tasks of one process share the connection.
    with Queue("readings", url=URL) as queue:
        # The id is made from the row, so a task that Spark repeats adds no job twice.
        jobs = [
            {"name": "calibrate", "data": {"sensor": sensor, "value": value}, "opts": {"job_id": f"sensor-{sensor}"}}
            for sensor, value in rows
        ]
        yield len(queue.add_bulk(jobs))


def calibrate(job):
    """Run one job; this runs on the executors."""
    if job.data["value"] < 0:
        raise ValueError("a reading below zero")
    return round(job.data["value"] * 1.02, 2)


use_java()
os.environ["PYSPARK_PYTHON"] = sys.executable  # the executors use this Python, and not the first one on PATH
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
sc = spark.sparkContext

readings = sc.parallelize([(sensor, sensor / 2 - 1) for sensor in range(100)], 4)
added = sum(readings.mapPartitions(add_readings).collect())

# Two partitions are two workers with 8 jobs each at a time. `persist`, since each action would run the workers again.
calibrate_all = worker("readings", calibrate, url=URL, concurrency=8)
results = sc.parallelize(range(2), 2).mapPartitions(calibrate_all).persist()
failed = results.filter(lambda done: done.state == "failed").map(lambda done: (done.jobId, done.error)).collect()
values = results.filter(lambda done: done.state == "completed").map(lambda done: (done.jobId, done.result)).collect()

# The rows and the results meet by the ids.
calibrated = readings.map(lambda row: (f"sensor-{row[0]}", row[1])).join(sc.parallelize(values))
print(f"{added} jobs added, {calibrated.count()} readings calibrated, {len(failed)} failed: {failed[0][1]}")

assert added == 100
assert sorted(failed) == [("sensor-0", "a reading below zero"), ("sensor-1", "a reading below zero")]
assert calibrated.collectAsMap()["sensor-10"] == (4.0, 4.08)
assert Queue("readings", url=URL).get_job_counts("completed", "failed") == {"completed": 98, "failed": 2}
results.unpersist()
