"""A stream becomes jobs: each micro-batch is added once, also after a crash between writing and committing.

Needs ``pip install 'bullrush[spark,embedded]'``.
"""

import os
import sys
import tempfile
import time

from pyspark.sql import DataFrame, SparkSession

from bullrush import Queue
from bullrush.spark import enqueue
from bullrush.spark.java import use_java
from bullrush.url import resolve

URL = resolve("embedded://")  # a private server; with your own: URL = "redis://10.0.0.5:6379/0"


def send(rows: DataFrame, batch: int) -> None:
    """Add the rows of a micro-batch. A batch that Spark sends again has the same number, so it adds nothing."""
    enqueue(rows, "stream", url=URL, name="reading", batch_id=f"stream-{batch}")


use_java()
os.environ["PYSPARK_PYTHON"] = sys.executable
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

readings = (
    spark.readStream.format("rate").option("rowsPerSecond", 500).load().selectExpr("value AS sensor", "timestamp")
)
queue = Queue("stream", url=URL)
with tempfile.TemporaryDirectory() as checkpoint:
    query = readings.writeStream.foreachBatch(send).option("checkpointLocation", checkpoint).start()
    while queue.get_waiting_count() < 500 and query.isActive:
        time.sleep(0.1)
    query.stop()
print(f"{queue.get_waiting_count()} jobs; the first: {queue.get_waiting(0, 0)[0].data}")

sensors = [job.data["sensor"] for job in queue.get_waiting()]
assert len(sensors) >= 500
assert sorted(sensors) == list(range(len(sensors))), "each reading once"
