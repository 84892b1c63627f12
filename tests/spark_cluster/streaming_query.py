"""A program for test_streaming_query_killed: a query that enqueues each micro-batch, and that stops before one commits.

Arguments: queue, URL, checkpoint, number of rows in a batch, the batch after whose write it waits to be killed (-1:
none), the last batch.
"""

import os
import sys
import time

from pyspark.sql import DataFrame, SparkSession

from bullrush.spark import enqueue
from bullrush.spark.java import use_java


def main() -> None:
    name, url, checkpoint = sys.argv[1:4]
    size, halt, last = map(int, sys.argv[4:])
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("streaming query")
    for setting in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(setting, "false")
    spark = builder.config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    def add(batch: DataFrame, number: int) -> None:
        enqueue(batch, name, url=url, name="first")
        enqueue(batch, name, url=url, name="second")
        print(f"written {number}", flush=True)
        if number in (halt, last):
            time.sleep(600)  # the batch is written but not committed: this is when the test kills the program

    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", size).option("startTimestamp", 0).load()
    query = rows.repartition(3).writeStream.foreachBatch(add).option("checkpointLocation", checkpoint)
    query.trigger(processingTime="100 milliseconds").start().awaitTermination()


if __name__ == "__main__":
    main()
