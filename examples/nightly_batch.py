"""Every night a table becomes jobs, the cluster runs them, and the results become a table.

The day is the batch id. So the program can be started again after a failure: jobs that exist are not added twice, and
jobs that have finished do not run twice. Needs ``pip install 'bullrush[spark,embedded]'``.
"""

import os
import sys
import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from bullrush import Queue
from bullrush.spark import drain, enqueue
from bullrush.spark.java import use_java

URL = "embedded://"  # a private server; with your own: URL = "redis://10.0.0.5:6379/0"
DAY = "2024-05-01"


def check(job):
    """Check one customer; this runs on the executors."""
    if job.data["balance"] < 0:
        raise ValueError(f"customer {job.data['customer']} has a negative balance")
    return {"customer": job.data["customer"], "grade": "gold" if job.data["balance"] > 500 else "plain"}


use_java()  # sets JAVA_HOME if PATH has no Java 17; you do not need it if `java -version` says 17 or more
os.environ["PYSPARK_PYTHON"] = sys.executable  # the executors use this Python, and not the first one on PATH
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

customers = spark.range(1, 1001).select(f.col("id").alias("customer"), (f.col("id") % 250 * 5 - 10).alias("balance"))

first = enqueue(customers, "nightly", url=URL, name="check", batch_id=DAY, opts={"attempts": 2})
again = enqueue(customers, "nightly", url=URL, name="check", batch_id=DAY, opts={"attempts": 2})
print(f"{first.added} jobs added; the second start found {again.duplicates} of them")

results = drain(spark, "nightly", check, url=URL, workers=2, concurrency=4, returns="customer long, grade string")
with tempfile.TemporaryDirectory() as folder:
    results.filter("state = 'completed'").select("customer", "grade").write.parquet(f"{folder}/grades/day={DAY}")
    grades = spark.read.parquet(f"{folder}/grades").groupBy("grade").count().orderBy("grade").collect()
failed = results.filter("state = 'failed'").select("jobId", "error", "attempts").collect()
print({row["grade"]: row["count"] for row in grades}, f"{len(failed)} failed:", failed[0].error)

assert (first.added, again.added, again.duplicates) == (1000, 0, 1000)
assert sum(row["count"] for row in grades) + len(failed) == 1000
assert Queue("nightly", url=URL).get_job_counts("completed", "failed") == {"completed": 992, "failed": 8}
