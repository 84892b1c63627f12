"""A program for test_spark_connect: everything that needs no RDD, over a Connect server that it starts."""

import json
import os
import sys

from pyspark.sql import SparkSession, functions

from bullrush.spark import drain, enqueue, progress, read_jobs
from bullrush.spark.java import use_java


def main() -> None:
    name, url = sys.argv[1:]
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    report = {"session": type(spark).__module__}
    frame = spark.range(0, 1_000, 1, 4).withColumn("kind", functions.when(functions.col("id") < 10, "a").otherwise("b"))
    with progress(name, url=url, count="added", total=1_000) as bar:
        stats = enqueue(frame, name, url=url, name="kind", data=["id"], job_id="id")
    report["added"], report["bar"] = stats.added, bar.n
    with progress(name, url=url) as bar:
        results = drain(spark, name, lambda job: {"n": job.data["id"] * 2}, url=url, workers=2, returns="n long")
    report["finished"] = bar.n
    report["results"] = sorted(row.n for row in results.collect())
    report["states"] = {row.state: row["count"] for row in results.groupBy("state").count().collect()}
    jobs = read_jobs(spark, name, url=url, schema="state string, data struct<id: long>, returnvalue struct<n: long>")
    report["read"] = sorted([row.state, row.data.id, row.returnvalue.n] for row in jobs.collect())
    print(json.dumps(report))
    spark.stop()


if __name__ == "__main__":
    main()
